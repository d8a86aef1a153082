//! Points that give a node more cores than this machine has: they are left out, and the report has their ceiling instead.

use std::path::PathBuf;

use super::error::{RunError, TOO_FEW_CORES};
use crate::plan::{Plan, PointPlan};
use crate::report::number;
use crate::results::{CaseResult, Finding, Point};
use crate::stats;

/// Points, and their own executables by index. The executables may be fewer than the points; the others use the run's.
pub(super) type PlannedPoints = (Vec<PointPlan>, Vec<Option<PathBuf>>);

/// A point that was left out.
#[derive(Clone, Debug)]
pub(super) struct TooFewCores {
    at: Vec<CaseResult>,
    /// The plan without any number of cores: equal for points that differ in nothing else.
    plan: Plan,
    /// The cores that this machine has for a node.
    here: u32,
}

/// Returns the points that this machine has enough cores for, and adds each other one to `left_out`. With fewer cores, a
/// point would have another point's figures.
pub(super) fn on_this_machine(
    (points, binaries): PlannedPoints,
    here: u32,
    left_out: &mut Vec<TooFewCores>,
) -> Result<PlannedPoints, RunError> {
    let mut there: PlannedPoints = PlannedPoints::default();
    for (at, point) in points.into_iter().enumerate() {
        if cores(&point.plan) > here {
            left_out.push(TooFewCores {
                plan: without_cores(&point.plan),
                at: point.at,
                here,
            });
            continue;
        }
        there.0.push(point);
        there.1.push(binaries.get(at).cloned().flatten());
    }
    match there.0.is_empty() && !left_out.is_empty() {
        true => Err(RunError::TooFewCores(here)),
        false => Ok(there),
    }
}

/// Returns the most cores that a node is to have; 0 if no node has a number of its own.
fn cores(plan: &Plan) -> u32 {
    let nodes = plan.network.nodes.values();
    nodes.filter_map(|node| node.cores).max().unwrap_or(0)
}

fn without_cores(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    let nodes = plan.network.nodes.values_mut();
    nodes.for_each(|node| node.cores = None);
    plan
}

impl TooFewCores {
    /// Returns the finding about it, with the ceiling by the measured points.
    pub fn finding(&self, planned: &[PointPlan], measured: &[Point]) -> Finding {
        let label = super::label(&self.at, None);
        let mut message = format!("{label}: not measured, this machine has {}", self.here);
        if let Some(ceiling) = self.ceiling(planned, measured) {
            message.push_str("; ");
            message.push_str(&ceiling);
        }
        Finding {
            code: TOO_FEW_CORES.to_owned(),
            message,
        }
    }

    /// Returns the ceiling in words, by the point with the most cores among those that differ in nothing else; `None` if no
    /// such point has a known one.
    fn ceiling(&self, planned: &[PointPlan], measured: &[Point]) -> Option<String> {
        let points = planned.iter().zip(measured);
        let alike = points.filter(|(planned, point)| {
            point.summary.metrics.contains_key("ceiling_per_s")
                && without_cores(&planned.plan) == self.plan
        });
        let (_, point) = alike.max_by_key(|(planned, _)| cores(&planned.plan))?;
        let metric = |name: &str| Some(point.summary.metrics.get(name)?.value);
        let node = stats::serial_node(&point.stretches)?;
        Some(format!(
            "at this load about {} units a second at most on any number of cores, because one thread of {node} spends {} µs on each ({})",
            number(metric("ceiling_per_s")?),
            number(metric("serial_us_per_unit")?),
            super::label(&point.at, None),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{NoChecks, Options, parse};
    use crate::results::{Process, ProcessSample, Stretch};

    fn points(text: &str) -> Vec<PointPlan> {
        let plan = parse("x", "x", text.as_bytes(), &Options::default(), &NoChecks);
        plan.expect("in order").points().expect("points")
    }

    fn by_cores(cores: &str) -> PlannedPoints {
        let points = points(&format!(
            "[work]\nkind = 'pay'\n[[sweep]]\nset = 'network.nodes.bank-1.cores'\nvalues = [{cores}]"
        ));
        (points, vec![None, Some("older".into())])
    }

    #[test]
    fn skips_points_needing_more_cores_than_available() {
        for (cores, there, said) in [
            ("1, 2", &["1", "2"][..], 0),
            ("1, 2, 4, 8", &["1", "2"], 2),
            ("8, 2", &["2"], 1),
        ] {
            let mut left_out = Vec::new();
            let (points, binaries) =
                on_this_machine(by_cores(cores), 2, &mut left_out).expect("some are left");
            let names: Vec<&str> = points.iter().map(|one| one.at[0].name.as_str()).collect();
            assert_eq!(names, there, "{cores}");
            assert_eq!(binaries.len(), points.len());
            // After points are left out, each executable still belongs to its point.
            let older = points.iter().zip(&binaries).find(|(_, one)| one.is_some());
            assert!(older.is_some_and(|(point, _)| point.at[0].name == "2"));
            assert_eq!(left_out.len(), said, "{left_out:?}");
        }
        let mut left_out = Vec::new();
        let none = on_this_machine(by_cores("4, 8"), 2, &mut left_out).expect_err("none is left");
        assert_eq!((none.code(), left_out.len()), (TOO_FEW_CORES, 2));
        let finding = left_out[0].finding(&[], &[]);
        assert_eq!(
            (finding.code.as_str(), finding.message.as_str()),
            (TOO_FEW_CORES, "cores 4: not measured, this machine has 2")
        );
    }

    /// Returns a point at which a node spent this serial time on each of ten units.
    fn measured(planned: &PointPlan, serial_us: Option<u64>) -> Point {
        let sample = |times: u64| ProcessSample {
            kernel_us: serial_us.map(|us| 70 + us * 10 * times),
            kernel_jobs_us: Some(70),
            ..ProcessSample::default()
        };
        let stretches = vec![Stretch {
            seconds: 1.0,
            done: 10,
            processes: vec![Process {
                name: "bank-1".to_owned(),
                samples: vec![sample(0), sample(1)],
            }],
            ..Stretch::default()
        }];
        Point {
            at: planned.at.clone(),
            summary: stats::summarise(&stretches, 0.0),
            stretches,
            ..Point::default()
        }
    }

    #[test]
    fn ceiling_comes_from_the_same_work_on_the_most_cores() {
        let sweeps = "[work]\nkind = 'pay'\n[[sweep]]\nset = 'network.nodes.bank-1.cores'\nvalues = [1, 2, 8]\n\
            [[sweep]]\nlabel = 'work'\nset = 'work.kind'\nvalues = ['issue', 'pay']";
        let mut left_out = Vec::new();
        let planned = (points(sweeps), Vec::new());
        let (planned, _) = on_this_machine(planned, 2, &mut left_out).expect("some are left");
        // Issue and pay on one core, then both on two cores.
        for (serial_us, issue, pay) in [
            (
                [Some(90), Some(40), Some(100), Some(50)],
                "; at this load about 10,000 units a second at most on any number of cores, because one thread of bank-1 spends 100 µs on each \
                 (cores 2, issue)",
                "; at this load about 20,000 units a second at most on any number of cores, because one thread of bank-1 spends 50 µs on each \
                 (cores 2, pay)",
            ),
            (
                [None, Some(40), None, None],
                "",
                "; at this load about 25,000 units a second at most on any number of cores, because one thread of bank-1 spends 40 µs on each \
                 (cores 1, pay)",
            ),
        ] {
            let points = planned.iter().zip(serial_us);
            let points: Vec<Point> = points.map(|(plan, us)| measured(plan, us)).collect();
            let said = left_out.iter().map(|one| one.finding(&planned, &points));
            let said: Vec<String> = said.map(|finding| finding.message).collect();
            let expected = [("issue", issue), ("pay", pay)].map(|(work, ceiling)| {
                format!("cores 8, {work}: not measured, this machine has 2{ceiling}")
            });
            assert_eq!(said, expected);
        }
    }
}
