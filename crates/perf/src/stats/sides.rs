//! Builds the sides of a comparison from finished reports.

use std::collections::BTreeMap;

use super::compare::{Case, CompareError, Design, PAIRS_MIN, compare};
use super::comparison::{Comparison, LeftOut, Side};
use crate::plan::{PointPlan, is_same_work, recorded_points};
use crate::results::{CaseResult, Point, Report, Scenario, Stretch};

/// Compares finished reports, each with the first, in their common points. Runs at different times differ by more than
/// their sides, which no test on their figures can detect. The comparison says so.
///
/// # Errors
/// As [`compare`].
pub fn compare_reports(reports: &[(Side, Report)]) -> Result<Comparison, CompareError> {
    let Some(((_, first), others)) = reports.split_first() else {
        return Err(CompareError::Sides(0));
    };
    let mut cases = Vec::new();
    let mut left_out = Vec::new();
    for scenario in &first.scenarios {
        let here = recorded(scenario);
        let there = others.iter().map(|(_, other)| {
            let same = same_scenario(first, other, scenario)?;
            Some((same, recorded(same)))
        });
        let there: Vec<Option<(&Scenario, Vec<PointPlan>)>> = there.collect();
        for point in &scenario.points {
            let at = words(scenario, &point.at, first.scenarios.len() > 1);
            let same = there.iter().map(|other| {
                let (other, plans) = other.as_ref()?;
                let mut points = other.points.iter();
                let same = points.find(|other| same_place(&other.at, &point.at))?;
                Some((same, does_other_work(&here, plans, &point.at, &same.at)))
            });
            let same: Option<Vec<(&Point, bool)>> = same.collect();
            let mut leave_out = |why: &str| {
                left_out.push(LeftOut {
                    at: at.clone(),
                    metric: String::new(),
                    why: why.to_owned(),
                });
            };
            let Some(same) = same else {
                leave_out("not every report has this point");
                continue;
            };
            if same.iter().any(|(_, is_other_work)| *is_other_work) {
                leave_out("the reports do different work here");
                continue;
            }
            let stretches = std::iter::once(point)
                .chain(same.into_iter().map(|(point, _)| point))
                .map(|point| point.stretches.clone());
            cases.push(Case {
                at,
                stretches: stretches.collect(),
            });
        }
    }
    let sides = reports.iter().map(|(side, _)| side.clone()).collect();
    let seed = first.scenarios.first().map_or(0, |scenario| scenario.seed);
    let mut comparison = compare(sides, &cases, Design::Separate, seed)?;
    comparison.left_out.splice(0..0, left_out);
    comparison.notes.push(
        "These are runs of their own: every other difference between them (the time of day, other processes, the machine) counts as a change. To rule that out, let `tally lab compare` run the scenarios side by side."
            .to_owned(),
    );
    comparison.notes.extend(doubts(reports));
    Ok(comparison)
}

/// Returns the plans of a scenario's points; none if its source cannot be read.
fn recorded(scenario: &Scenario) -> Vec<PointPlan> {
    recorded_points(&scenario.name, &scenario.source)
}

/// Returns whether the plans at two positions are known to do different work.
fn does_other_work(
    here: &[PointPlan],
    there: &[PointPlan],
    one: &[CaseResult],
    other: &[CaseResult],
) -> bool {
    let here = here.iter().find(|planned| planned.at == one);
    let there = there.iter().find(|planned| planned.at == other);
    let plans = here.zip(there);
    plans.is_some_and(|(one, other)| !is_same_work(&one.plan, &other.plan))
}

/// Returns whether points that differ on an axis alone do different work.
fn axis_changes_work(scenario: &Scenario, axis: &str) -> bool {
    let points = recorded(scenario);
    let elsewhere = |point: &PointPlan| -> Vec<CaseResult> {
        let cases = point.at.iter().filter(|case| case.axis != axis);
        cases.cloned().collect()
    };
    points.iter().any(|one| {
        let mut alike = points.iter();
        alike.any(|two| elsewhere(one) == elsewhere(two) && !is_same_work(&one.plan, &two.plan))
    })
}

/// A position on the other axes, with the stretches of each side there.
type Place = (Vec<CaseResult>, BTreeMap<usize, Vec<Stretch>>);

/// Compares the cases of one axis of a report, each with the first, at every position on the other axes. Repeats that ran
/// in rounds are pairs; others are separate runs.
///
/// # Errors
/// As [`compare`]; `lab.compare_nothing` also if no scenario has the axis.
pub fn compare_axis(report: &Report, axis: &str) -> Result<Comparison, CompareError> {
    let with_axis = |scenario: &&Scenario| scenario.axes.iter().any(|known| known == axis);
    let Some(scenario) = report.scenarios.iter().find(with_axis) else {
        let axes: Vec<&str> = report
            .scenarios
            .iter()
            .flat_map(|scenario| &scenario.axes)
            .map(String::as_str)
            .collect();
        let known = if axes.is_empty() {
            "it has none".to_owned()
        } else {
            format!("it has {}", axes.join(", "))
        };
        return Err(CompareError::Nothing(format!(
            "the report has no axis {axis:?}: {known}"
        )));
    };
    let mut names: Vec<&str> = Vec::new();
    let mut places: Vec<Place> = Vec::new();
    for point in &scenario.points {
        let Some(on_axis) = point.at.iter().find(|case| case.axis == axis) else {
            continue;
        };
        let side = names
            .iter()
            .position(|name| *name == on_axis.name)
            .unwrap_or_else(|| {
                names.push(&on_axis.name);
                names.len() - 1
            });
        let rest: Vec<CaseResult> = point
            .at
            .iter()
            .filter(|case| case.axis != axis)
            .cloned()
            .collect();
        let place = places
            .iter()
            .position(|(known, _)| same_place(known, &rest))
            .unwrap_or_else(|| {
                places.push((rest.clone(), BTreeMap::new()));
                places.len() - 1
            });
        places[place].1.insert(side, point.stretches.clone());
    }
    let sides: Vec<Side> = names
        .iter()
        .map(|name| Side {
            name: (*name).to_owned(),
            about: format!("{axis} {name}"),
        })
        .collect();
    let cases: Vec<Case> = places
        .into_iter()
        .map(|(at, stretches)| Case {
            at: words(scenario, &at, false),
            stretches: stretches.into_values().collect(),
        })
        .collect();
    // Without cases there are no rounds, and the comparison fails.
    let rounds = cases
        .iter()
        .flat_map(|case| case.stretches.iter().map(Vec::len))
        .min()
        .unwrap_or(0);
    let design = match design(&cases) {
        design if rounds >= PAIRS_MIN => design,
        _ => Design::Separate,
    };
    let mut comparison = compare(sides, &cases, design, scenario.seed)?;
    comparison.title = scenario.title.clone();
    comparison.machine = Some(report.machine.clone());
    if design == Design::Separate {
        comparison.notes.push(format!(
            "Fewer than {PAIRS_MIN} repeats in turns: the cases were tested as separate runs, which sees less and takes drift for change. Run with `--set run.repeats={PAIRS_MIN} --set run.interleave=true`."
        ));
    }
    if axis_changes_work(scenario, axis) {
        comparison.notes.push(format!(
            "The cases of {axis} do different work: a change between them is no gain or loss."
        ));
    }
    comparison.notes.extend(doubts_of("the report", report));
    Ok(comparison)
}

/// Returns the order of stretches, by their start times: in rounds or not, and whether rounds always had the same order.
fn design(cases: &[Case]) -> Design {
    let mut fixed = true;
    for case in cases {
        // A case without stretches has no rounds.
        let rounds = case.stretches.iter().map(Vec::len).min().unwrap_or(0);
        let mut ended = 0;
        let mut usual: Option<Vec<usize>> = None;
        for round in 0..rounds {
            let began = |side: &usize| case.stretches[*side][round].started_ms;
            let mut order: Vec<usize> = (0..case.stretches.len()).collect();
            order.sort_by_key(began);
            let (first, last) = (
                order.first().map_or(0, began),
                order.last().map_or(0, began),
            );
            if round > 0 && first <= ended {
                return Design::Separate;
            }
            ended = last;
            fixed &= usual.get_or_insert_with(|| order.clone()) == &order;
        }
    }
    if fixed { Design::Fixed } else { Design::Random }
}

/// Returns the scenario of another report to compare with: of the same name, or the only one of each.
fn same_scenario<'a>(
    first: &Report,
    other: &'a Report,
    scenario: &Scenario,
) -> Option<&'a Scenario> {
    let alone = first.scenarios.len() == 1 && other.scenarios.len() == 1;
    let same = |other: &&Scenario| alone || other.name == scenario.name;
    other.scenarios.iter().find(same)
}

fn same_place(one: &[CaseResult], other: &[CaseResult]) -> bool {
    let places = |at: &[CaseResult]| {
        at.iter()
            .map(|case| (case.axis.clone(), case.name.clone()))
            .collect::<BTreeMap<_, _>>()
    };
    places(one) == places(other)
}

/// Returns the display name of a point: `swap: parties 4, sequential`.
fn words(scenario: &Scenario, at: &[CaseResult], with_scenario: bool) -> String {
    let cases: Vec<String> = at
        .iter()
        .map(|case| match case.number {
            Some(_) => format!("{} {}", case.axis, case.name),
            None => case.name.clone(),
        })
        .collect();
    match (with_scenario, cases.is_empty()) {
        (false, _) => cases.join(", "),
        (true, true) => scenario.name.clone(),
        (true, false) => format!("{}: {}", scenario.name, cases.join(", ")),
    }
}

/// Returns reasons to doubt the reports, or their comparison.
fn doubts(reports: &[(Side, Report)]) -> Vec<String> {
    let mut found: Vec<String> = reports
        .iter()
        .flat_map(|(side, report)| doubts_of(&side.name, report))
        .collect();
    let Some(((_, first), others)) = reports.split_first() else {
        return found;
    };
    for (side, other) in others {
        let (here, there) = (&first.machine, &other.machine);
        if (&here.processor, here.cores, &here.system)
            != (&there.processor, there.cores, &there.system)
        {
            found.push(format!(
                "{} ran on another machine: {} with {} cores, {}.",
                side.name, there.processor, there.cores, there.system
            ));
        }
        if first.version != other.version {
            found.push(format!(
                "{} was made by version {}, the first by {}.",
                side.name, other.version, first.version
            ));
        }
    }
    found
}

/// Returns reasons to doubt a report.
pub fn doubts_of(name: &str, report: &Report) -> Vec<String> {
    let bad = report
        .scenarios
        .iter()
        .filter(|scenario| !scenario.is_good());
    let mut found: Vec<String> = bad
        .map(|scenario| match &scenario.failure {
            Some(failure) => format!(
                "{name}: the scenario {} went no further: {failure}.",
                scenario.name
            ),
            None => format!(
                "{name}: an audit of the scenario {} failed. Believe none of its figures.",
                scenario.name
            ),
        })
        .collect();
    if report.interrupted {
        found.push(format!("{name} was ended early."));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::AuditResult;
    use crate::stats::{Method, Verdict};

    fn stretch(started_ms: u64, seconds: f64) -> Stretch {
        Stretch {
            started_ms,
            seconds,
            done: 1000,
            ..Stretch::default()
        }
    }

    fn case(axis: &str, name: &str) -> CaseResult {
        CaseResult {
            axis: axis.to_owned(),
            name: name.to_owned(),
            number: name.parse().ok(),
        }
    }

    /// Returns a scenario with two cases of `variant` at two of `parties`. `order` says which of the two variants comes
    /// first in a round.
    fn swept(rounds: u64, order: impl Fn(u64) -> u64) -> Report {
        let point = |parties: u64, variant: u64| {
            let stretches = (0..rounds).map(|round| {
                let place = (variant + order(round)) % 2 + 2 * (parties % 2);
                stretch(
                    round * 4000 + place * 1000,
                    1.0 + 0.1 * variant as f64 + 0.001 * (round * 7 % 5) as f64,
                )
            });
            Point {
                at: vec![
                    case("parties", &parties.to_string()),
                    case("variant", ["plain", "slow"][variant as usize]),
                ],
                stretches: stretches.collect(),
                ..Point::default()
            }
        };
        Report {
            scenarios: vec![Scenario {
                name: "x".to_owned(),
                axes: vec!["parties".to_owned(), "variant".to_owned()],
                points: [(4, 0), (4, 1), (5, 0), (5, 1)]
                    .map(|(parties, variant)| point(parties, variant))
                    .into(),
                ..Scenario::default()
            }],
            ..Report::default()
        }
    }

    #[test]
    fn cases_of_an_axis_are_compared_at_every_other_place() {
        for (order, method) in [
            (
                Box::new(|_| 0u64) as Box<dyn Fn(u64) -> u64>,
                Method::PairedFixedOrder,
            ),
            (
                Box::new(|round: u64| round * 7 % 3 % 2),
                Method::PairedRandomOrder,
            ),
        ] {
            let comparison = compare_axis(&swept(12, order), "variant").expect("twelve rounds");
            assert_eq!(comparison.test.method, method);
            let names: Vec<&str> = comparison
                .sides
                .iter()
                .map(|side| side.name.as_str())
                .collect();
            assert_eq!(names, ["plain", "slow"]);
            let found: Vec<(&str, &str, Verdict)> = comparison
                .metrics
                .iter()
                .map(|metric| (metric.at.as_str(), metric.metric.as_str(), metric.verdict))
                .collect();
            let lower = |at| (at, "rate_per_s", Verdict::Lower);
            assert_eq!(found, [lower("parties 4"), lower("parties 5")]);
        }
        let few = compare_axis(&swept(4, |_| 0), "variant").expect("four repeats");
        assert_eq!((few.test.method, few.notes.len()), (Method::Unpaired, 1));
        let error = compare_axis(&swept(4, |_| 0), "depth").expect_err("no such axis");
        assert!(
            error.to_string().contains("it has parties, variant"),
            "{error}"
        );
    }

    #[test]
    fn points_with_other_work_are_not_compared() {
        let source = |states: u32, variants: &str| {
            format!(
                "[work]\nkind = 'pay'\nstates = {states}\n[[sweep]]\nlabel = 'parties'\nset = 'load.outstanding'\nvalues = [4, 5]\n\
                 [[sweep]]\nlabel = 'variant'\n{variants}"
            )
        };
        let cases = |slow: &str| {
            format!("[[sweep.case]]\nname = 'plain'\n[[sweep.case]]\nname = 'slow'\nset.{slow}\n")
        };
        let same = cases("work.anonymous = true");
        let side = |name: &str| Side {
            name: name.to_owned(),
            about: String::new(),
        };
        let report = |source: String| {
            let mut report = swept(12, |_| 0);
            report.scenarios[0].source = source;
            report
        };
        let a = report(source(1, &same));
        for (states, left_out) in [(1, 0), (5, 4)] {
            let reports = [
                (side("A"), a.clone()),
                (side("B"), report(source(states, &same))),
            ];
            let found = compare_reports(&reports);
            match left_out {
                4 => assert!(matches!(found, Err(CompareError::Nothing(_))), "{found:?}"),
                _ => assert_eq!(found.expect("compared").left_out.len(), left_out),
            }
        }
        for (slow, is_noted) in [("work.anonymous = true", false), ("work.states = 9", true)] {
            let report = report(source(1, &cases(slow)));
            let found = compare_axis(&report, "variant").expect("twelve rounds");
            let is_found = found
                .notes
                .iter()
                .any(|note| note.contains("different work"));
            assert_eq!(is_found, is_noted, "{slow}");
        }
    }

    #[test]
    fn repeats_after_one_another_are_no_pairs() {
        let mut report = swept(12, |_| 0);
        for (at, point) in report.scenarios[0].points.iter_mut().enumerate() {
            for (round, stretch) in point.stretches.iter_mut().enumerate() {
                stretch.started_ms = (at * 100 + round) as u64 * 1000;
            }
        }
        let comparison = compare_axis(&report, "variant").expect("twelve repeats");
        assert_eq!(comparison.test.method, Method::Unpaired);
    }

    #[test]
    fn reports_are_compared_where_they_meet_and_doubts_are_said() {
        let side = |name: &str| Side {
            name: name.to_owned(),
            about: String::new(),
        };
        let (a, mut b) = (swept(5, |_| 0), swept(5, |_| 0));
        b.scenarios[0].points.remove(0);
        b.scenarios[0].points[0].audits.push(AuditResult::default());
        b.version = "2".to_owned();
        b.machine.cores = 64;
        b.interrupted = true;
        let comparison =
            compare_reports(&[(side("A"), a.clone()), (side("B"), b)]).expect("three points");
        assert_eq!(comparison.metrics.len(), 3);
        assert_eq!(comparison.left_out.len(), 1, "{:?}", comparison.left_out);
        for word in [
            "runs of their own",
            "audit",
            "ended early",
            "another machine",
            "version 2",
        ] {
            assert!(
                comparison.notes.iter().any(|note| note.contains(word)),
                "{word}: {:?}",
                comparison.notes
            );
        }
        assert!(!comparison.is_changed(), "the same figures");
        assert!(matches!(compare_reports(&[]), Err(CompareError::Sides(0))));
        let none = compare_reports(&[(side("A"), a), (side("B"), Report::default())]);
        assert!(matches!(none, Err(CompareError::Nothing(_))));
    }
}
