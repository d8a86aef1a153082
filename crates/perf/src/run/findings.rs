//! Warnings about a result.

use std::collections::BTreeMap;

use super::error::{AUDIT_FAILED, NOT_STEADY, REPEATS_MISSING, SHORT_WINDOW, UNITS_FAILED};
use crate::load::engine;
use crate::results::{Finding, Scenario};
use crate::stats::{STEADY_WITHIN, Steady, steadiness};

/// Below this many seconds a stretch says little about a steady state.
const SECONDS_MIN: f64 = 0.5;
/// Below this many completed units the percentiles are unreliable.
const UNITS_MIN: u64 = 30;
/// Upper limit on findings of one code. Further ones are counted.
const PER_CODE_MAX: usize = 3;

/// Returns all warnings about a scenario whose points are final.
pub(super) fn findings(scenario: &Scenario, repeats: u32) -> Vec<Finding> {
    let mut found = Vec::new();
    for point in &scenario.points {
        let label = super::label(&point.at, None);
        let mut say = |code: &str, message: String| {
            let message = match label.as_str() {
                "" => message,
                label => format!("{label}: {message}"),
            };
            let code = code.to_owned();
            found.push(Finding { code, message });
        };
        for audit in point.audits.iter().filter(|audit| !audit.clean) {
            say(AUDIT_FAILED, audit.words.clone());
        }
        let measured = point.stretches.len();
        if measured < repeats as usize {
            say(
                REPEATS_MISSING,
                format!("{measured} of {repeats} repeats were measured"),
            );
        }
        for stretch in &point.stretches {
            for finding in engine::findings(stretch) {
                say(&finding.code, finding.message);
            }
            if stretch.seconds < SECONDS_MIN || stretch.done < UNITS_MIN {
                say(
                    SHORT_WINDOW,
                    format!(
                        "{} units in {:.1} s are too few for percentiles",
                        stretch.done, stretch.seconds
                    ),
                );
            }
            if let Some((Steady::Drifting, change)) = steadiness(stretch)
                && change.value.abs() > STEADY_WITHIN
            {
                say(
                    NOT_STEADY,
                    format!(
                        "the rate changed by {:+.0} % over {:.0} s, so its mean depends on the length of the stretch",
                        change.value * 100.0,
                        stretch.seconds
                    ),
                );
            }
            if let Some(fault) = stretch.faults.first() {
                let failed = stretch.failed();
                say(
                    UNITS_FAILED,
                    format!(
                        "{failed} units failed, such as {}: {}",
                        fault.code, fault.message
                    ),
                );
            }
        }
    }
    few_of_each(found)
}

/// Returns the first few of each code, with the number of further ones.
fn few_of_each(all: Vec<Finding>) -> Vec<Finding> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut few = Vec::new();
    for finding in all {
        let count = counts.entry(finding.code.clone()).or_default();
        *count += 1;
        if *count <= PER_CODE_MAX {
            few.push(finding);
        }
    }
    for (code, count) in counts {
        if let Some(more) = count.checked_sub(PER_CODE_MAX).filter(|more| *more > 0) {
            let message = format!("and {more} more of this kind");
            few.push(Finding { code, message });
        }
    }
    few
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{AuditResult, CaseResult, Fault, Point, Stretch};

    fn codes(point: Point, repeats: u32) -> Vec<String> {
        let scenario = Scenario {
            points: vec![point],
            ..Scenario::default()
        };
        let found = findings(&scenario, repeats);
        found.into_iter().map(|finding| finding.code).collect()
    }

    fn good() -> Stretch {
        Stretch {
            seconds: 3.0,
            due: 1000,
            done: 1000,
            ..Stretch::default()
        }
    }

    fn point(stretches: Vec<Stretch>) -> Point {
        Point {
            stretches,
            ..Point::default()
        }
    }

    #[test]
    fn what_is_wrong_is_said_and_what_is_not_is_not() {
        assert!(codes(point(vec![good()]), 1).is_empty());
        assert_eq!(codes(point(vec![good()]), 2), [REPEATS_MISSING]);
        let short = Stretch {
            done: 3,
            due: 3,
            ..good()
        };
        assert_eq!(codes(point(vec![short]), 1), [SHORT_WINDOW]);
        let fault = Fault {
            code: "node.busy".into(),
            count: 7,
            message: "busy".into(),
        };
        let failing = Stretch {
            faults: vec![fault],
            ..good()
        };
        assert_eq!(codes(point(vec![failing]), 1), [UNITS_FAILED]);
        let late = Stretch {
            late: 500,
            ..good()
        };
        assert_eq!(codes(point(vec![late]), 1), ["lab.generator_limit"]);
        let mut wrong = point(vec![good()]);
        wrong.audits.push(AuditResult::default());
        assert_eq!(codes(wrong, 1), [AUDIT_FAILED]);
    }

    #[test]
    fn many_of_a_kind_are_counted_and_points_are_named() {
        let mut many = point(vec![good(); 1]);
        many.at.push(CaseResult {
            axis: "states".into(),
            name: "5".into(),
            number: Some(5.0),
        });
        many.audits = vec![AuditResult::default(); 10];
        let scenario = Scenario {
            points: vec![many],
            ..Scenario::default()
        };
        let found = findings(&scenario, 1);
        assert_eq!(found.len(), PER_CODE_MAX + 1);
        assert!(
            found[0].message.starts_with("states 5: "),
            "{}",
            found[0].message
        );
        assert_eq!(found[PER_CODE_MAX].message, "and 7 more of this kind");
    }
}
