//! Scenarios as sides of a comparison: their plans and names.

use std::path::{Path, PathBuf};

use perf::plan::{Plan, PointPlan};
use perf::results::CaseResult;
use perf::run;
use perf::stats::{CompareError, Comparison, SIDES_MAX};

/// The axis that distinguishes the sides.
const SIDE: &str = "side";

/// The remark if a side has its own network.
const OWN_NETWORKS: &str = "The sides ran on networks of their own, as other programs, other banks or another notary need them: what differs between the networks themselves counts as a change. Memory, above all: how much of a program's file is mapped depends on the file. A comparison of a program with a copy of itself shows how much that is.";

/// The remark if a scenario asks for fresh networks that its cases cannot have.
const NOT_FRESH: &str = "The cases took turns on one network, although the scenario says `run.fresh`: each turn found what earlier ones had left, of all cases alike.";

/// One side's scenario.
pub struct Opened {
    pub plan: Plan,
    /// A description for display.
    pub about: String,
    pub binary: Option<PathBuf>,
}

/// The plan of a comparison.
pub struct ComparisonPlan {
    /// The whole plan, with its pairs as repeats.
    pub plan: Plan,
    /// Points of different scenarios. `None` if the plan's own axis distinguishes the sides.
    pub sides: Option<Vec<run::Side>>,
    /// The compared axis.
    pub axis: String,
    /// The exact scenarios by their files' names.
    pub sources: Vec<(String, String)>,
    about: Vec<String>,
    own_networks: bool,
    not_fresh: bool,
}

impl ComparisonPlan {
    /// Compares the cases of one axis of a scenario.
    pub fn of_axis(mut plan: Plan, axis: &str, pairs: u32) -> Self {
        let not_fresh = plan.run.fresh;
        in_pairs(&mut plan, pairs);
        Self {
            not_fresh,
            sources: Vec::new(),
            plan,
            sides: None,
            axis: axis.to_owned(),
            about: Vec::new(),
            own_networks: false,
        }
    }

    /// Compares scenarios side by side.
    pub fn of_plans(opened: Vec<Opened>, pairs: u32) -> Result<Self, CompareError> {
        if !(2..=SIDES_MAX).contains(&opened.len()) {
            return Err(CompareError::Sides(opened.len()));
        }
        let mut sides = Vec::new();
        for (at, side) in opened.iter().enumerate() {
            let points = side.plan.points();
            let points = points.map_err(|error| CompareError::Nothing(error.to_string()))?;
            for point in points {
                sides.push(run::Side {
                    point: placed(point, letter(at)),
                    binary: side.binary.clone(),
                });
            }
        }
        let source =
            |(at, side): (usize, &Opened)| (format!("{}.toml", letter(at)), side.plan.to_toml());
        let mut plan = opened[0].plan.clone();
        plan.title = format!("{} sides of {}", opened.len(), plan.title);
        plan.monitors.machine = opened.iter().any(|side| side.plan.monitors.machine);
        in_pairs(&mut plan, pairs);
        let network = |side: &Opened| {
            let network = &side.plan.network;
            (
                side.binary.clone(),
                network.banks,
                network.notary,
                network.target.clone(),
            )
        };
        let own_networks = opened
            .iter()
            .any(|side| network(side) != network(&opened[0]));
        Ok(Self {
            own_networks,
            // Points of sides are scenarios of their own, so their settings stay.
            not_fresh: false,
            sources: opened.iter().enumerate().map(source).collect(),
            about: opened.into_iter().map(|side| side.about).collect(),
            plan,
            sides: Some(sides),
            axis: SIDE.to_owned(),
        })
    }

    /// Describes the sides in a comparison.
    pub fn describe(&self, comparison: &mut Comparison) {
        comparison.title.clone_from(&self.plan.title);
        for (side, about) in comparison.sides.iter_mut().zip(&self.about) {
            side.about.clone_from(about);
        }
        if self.own_networks {
            comparison.notes.push(OWN_NETWORKS.to_owned());
        }
        if self.not_fresh {
            comparison.notes.push(NOT_FRESH.to_owned());
        }
    }
}

fn in_pairs(plan: &mut Plan, pairs: u32) {
    plan.run.repeats = pairs;
    plan.run.interleave = true;
    // Cases take turns on one network, so the scenario's request for a fresh network per turn cannot be granted.
    plan.run.fresh = false;
}

/// Returns the point with its side.
fn placed(mut point: PointPlan, side: String) -> PointPlan {
    point.at.insert(
        0,
        CaseResult {
            axis: SIDE.to_owned(),
            name: side,
            number: None,
        },
    );
    point
}

/// Returns `A`, `B` and so on.
pub fn letter(at: usize) -> String {
    let letter = u8::try_from(at)
        .ok()
        .and_then(|at| b'A'.checked_add(at))
        .filter(u8::is_ascii_uppercase);
    letter.map_or_else(|| at.to_string(), |letter| char::from(letter).to_string())
}

/// Returns a side's description: `swap with work.sessions=sequential, by ./older/tally`.
pub fn about(name: &str, set: &[String], binary: Option<&Path>) -> String {
    let mut text = name.to_owned();
    if !set.is_empty() {
        text.push_str(&format!(" with {}", set.join(", ")));
    }
    if let Some(binary) = binary {
        text.push_str(&format!(", nodes run {}", binary.display()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use perf::plan::{NoChecks, Options, parse};

    fn opened(set: &str) -> Opened {
        let text = format!("[work]\nkind = 'issue'\n{set}");
        let plan = parse(
            "x",
            "x.toml",
            text.as_bytes(),
            &Options::default(),
            &NoChecks,
        );
        Opened {
            plan: plan.expect("in order"),
            about: about("x.toml", &["a=1".to_owned()], Some(Path::new("tally"))),
            binary: None,
        }
    }

    #[test]
    fn every_point_of_every_side_has_its_side() {
        let sweep = "[[sweep]]\nset = 'run.seconds'\nvalues = [1, 2]";
        let given =
            ComparisonPlan::of_plans(vec![opened(sweep), opened(sweep)], 11).expect("two sides");
        assert_eq!(
            (given.plan.run.repeats, given.plan.run.interleave),
            (11, true)
        );
        let places: Vec<String> = given
            .sides
            .iter()
            .flatten()
            .map(|side| {
                side.point
                    .at
                    .iter()
                    .map(|case| case.name.as_str())
                    .collect::<Vec<_>>()
                    .join(" ")
            })
            .collect();
        assert_eq!(places, ["A 1", "A 2", "B 1", "B 2"]);
        assert_eq!(given.sources[1].0, "B.toml");
        assert!(!given.own_networks);
        let mut other = opened("");
        other.binary = Some("older".into());
        let given = ComparisonPlan::of_plans(vec![opened(""), other], 11).expect("two sides");
        let mut comparison = Comparison::default();
        given.describe(&mut comparison);
        assert_eq!(comparison.notes, [OWN_NETWORKS]);
        let alone = ComparisonPlan::of_plans(vec![opened("")], 11);
        assert!(matches!(alone, Err(CompareError::Sides(1))));
    }

    #[test]
    fn the_cases_of_a_scenario_with_fresh_networks_take_turns_too() {
        let sweep = "[run]\nfresh = true\n[[sweep]]\nset = 'run.seconds'\nvalues = [1, 2]";
        let given = ComparisonPlan::of_axis(opened(sweep).plan, "seconds", 11);
        let points = given.plan.points().expect("it can run");
        assert!(points.iter().all(|point| !point.plan.run.fresh));
        let mut comparison = Comparison::default();
        given.describe(&mut comparison);
        assert_eq!(comparison.notes, [NOT_FRESH]);
    }

    #[test]
    fn sides_are_described() {
        assert_eq!(
            (letter(0), letter(25), letter(26)),
            ("A".into(), "Z".into(), "26".into())
        );
        assert_eq!(opened("").about, "x.toml with a=1, nodes run tally");
    }
}
