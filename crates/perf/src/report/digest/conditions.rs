//! Our conditions next to those of the published figures.

use std::collections::BTreeMap;

use serde::Serialize;
use toml::Value;

use crate::plan::{
    ChainPlan, ConnectorProgram, DatabaseKind, Load, NotaryBackend, NotaryKind, Plan, PointPlan,
    Shape, Target, Think, Work, recorded_points,
};
use crate::report::figures::{bytes, duration, figure};
use crate::results::{CONDITIONS, Machine, Point, Published, Scenario, Stretch};

/// Upper limit on columns of published conditions.
const THEIRS_MAX: usize = 4;
/// Upper limit on knobs of a work that are listed.
const KNOBS_MAX: usize = 8;

/// A table of conditions.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Conditions {
    /// The published figures, one for each column. Lines with equal conditions share a column.
    pub theirs: Vec<String>,
    /// The rows. A row without any value is left out.
    pub rows: Vec<ConditionRow>,
}

/// One condition.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConditionRow {
    /// Its name, such as `Hardware`.
    pub title: &'static str,
    /// Ours; empty if it is not known.
    pub ours: String,
    /// Theirs, one for each column; `None` if it was not published.
    pub theirs: Vec<Option<String>>,
}

/// The table, and the plan that the opening paragraph describes.
pub(super) struct Known {
    pub table: Conditions,
    /// The scenario of the headline point, if its source can be read.
    pub plan: Option<Plan>,
}

impl Known {
    /// Returns our condition of a key of [`CONDITIONS`]; empty if it is not known.
    pub fn ours(&self, key: &str) -> &str {
        let title = CONDITIONS.iter().find(|(known, _)| *known == key);
        let title = title.map_or("", |(_, title)| title);
        let row = self.table.rows.iter().find(|row| row.title == title);
        row.map_or("", |row| row.ours.as_str())
    }
}

/// Returns the conditions of a point, usually that of the headline.
pub(super) fn of(machine: &Machine, scenario: &Scenario, point: Option<&Point>) -> Known {
    let plan = point.and_then(|point| plan_at(scenario, point));
    let columns = columns(&scenario.published);
    let rows = CONDITIONS.into_iter().map(|(key, title)| ConditionRow {
        title,
        ours: ours(key, machine, plan.as_ref(), point),
        theirs: columns
            .iter()
            .map(|(_, conditions)| conditions.get(key).cloned())
            .collect(),
    });
    let has_value =
        |row: &ConditionRow| !row.ours.is_empty() || row.theirs.iter().any(Option::is_some);
    Known {
        table: Conditions {
            rows: rows.filter(has_value).collect(),
            theirs: columns.into_iter().map(|(label, _)| label).collect(),
        },
        plan,
    }
}

/// Returns the labels and conditions of the published lines; lines with equal conditions together.
fn columns(published: &[Published]) -> Vec<(String, &BTreeMap<String, String>)> {
    let mut columns: Vec<(String, &BTreeMap<String, String>)> = Vec::new();
    for line in published.iter().filter(|line| !line.conditions.is_empty()) {
        let has_room = columns.len() < THEIRS_MAX;
        let known = columns
            .iter_mut()
            .find(|(_, conditions)| **conditions == line.conditions);
        match known {
            Some((label, _)) => {
                label.push_str("; ");
                label.push_str(&line.label);
            }
            None if has_room => {
                columns.push((line.label.clone(), &line.conditions));
            }
            None => {}
        }
    }
    columns
}

/// Reads the scenario of a point from the source that the report holds; `None` if it cannot be read.
fn plan_at(scenario: &Scenario, point: &Point) -> Option<Plan> {
    let points = plans(scenario).into_iter();
    let mut found = points.filter(|one| one.at == point.at);
    found.next().map(|found| found.plan)
}

/// Reads the scenarios of all points from the source that the report holds; none if it cannot be read.
pub(in crate::report) fn plans(scenario: &Scenario) -> Vec<PointPlan> {
    recorded_points(&scenario.name, &scenario.source)
}

fn ours(key: &str, machine: &Machine, plan: Option<&Plan>, point: Option<&Point>) -> String {
    match (key, plan) {
        ("hardware", _) => hardware(machine),
        ("nodes", Some(plan)) => nodes(plan, point.map_or("", |point| &point.system)),
        ("store", Some(plan)) => store(plan),
        ("work", Some(plan)) => work(plan),
        ("load", Some(plan)) => load(&plan.load),
        ("duration", _) => measured(plan, point),
        _ => String::new(),
    }
}

fn hardware(machine: &Machine) -> String {
    let mut parts = Vec::new();
    if !machine.processor.trim().is_empty() {
        parts.push(machine.processor.trim().to_owned());
    }
    if machine.cores > 0 {
        parts.push(counted(machine.cores, "core"));
    }
    if machine.memory_bytes > 0 {
        parts.push(format!("{} memory", bytes(machine.memory_bytes as f64)));
    }
    if machine.virtual_machine.starts_with("yes") {
        parts.push("virtual".to_owned());
    }
    if !machine.disk.is_empty() {
        parts.push(format!("disk {}", machine.disk));
    }
    match parts.is_empty() {
        true => String::new(),
        false => format!("one machine: {}", parts.join(", ")),
    }
}

/// The shipped connector.
const POSTGRES: Target = Target::Connector(ConnectorProgram::Postgres);

fn nodes(plan: &Plan, system: &str) -> String {
    let network = &plan.network;
    let linked = match network.is_linked() {
        true => ", with simulated links between nodes",
        false => "",
    };
    match (&plan.chain, &network.target) {
        (Some(chain), _) if chain.target.is_some() => "running chain nodes".to_owned(),
        (Some(chain), _) => format!(
            "{} and the load on the same machine",
            counted(chain.nodes, "chain node")
        ),
        (None, Some(Target::Nodes { banks, .. })) => {
            format!("a running network with {}", counted(banks.len(), "bank"))
        }
        (None, Some(Target::Connector(ConnectorProgram::Postgres))) => {
            format!("{system} and the load on the same machine")
        }
        (None, Some(Target::Connector(ConnectorProgram::Command(_)))) => {
            format!("{system}, by a connector")
        }
        (None, None) if network.banks == 0 => String::new(),
        (None, None) => format!(
            "{}, {} and the load on the same machine{linked}",
            notary(plan),
            counted(network.banks, "bank")
        ),
    }
}

fn notary(plan: &Plan) -> String {
    match plan.network.notary {
        NotaryKind::Single => "notary".to_owned(),
        NotaryKind::Validating => "validating notary".to_owned(),
        NotaryKind::Replicated { backend, workers } => {
            let database = match backend {
                NotaryBackend::Galera => "a Galera cluster of three servers",
                NotaryBackend::Postgres => "a PostgreSQL server",
            };
            format!("notary of {} on {database}", counted(workers, "worker"))
        }
    }
}

fn store(plan: &Plan) -> String {
    let is_ours = match &plan.chain {
        Some(chain) => chain.target.is_none(),
        None => plan.network.target.is_none() && plan.network.banks > 0,
    };
    match (is_ours, plan.network.database) {
        (true, DatabaseKind::Embedded) => "each node's embedded store".to_owned(),
        (true, DatabaseKind::Postgres) => "one PostgreSQL server for all nodes".to_owned(),
        (false, _) if plan.network.target == Some(POSTGRES) => {
            "tables of accounts and transfers, each transfer durable before its answer".to_owned()
        }
        (false, _) => String::new(),
    }
}

fn work(plan: &Plan) -> String {
    let on_a_chain = plan.chain.iter().map(payments);
    let works: Vec<String> = on_a_chain.chain(plan.work.iter().map(one_work)).collect();
    works.join("; ")
}

fn payments(chain: &ChainPlan) -> String {
    // All chains but the parent are children. Without chains there are none.
    let children = chain.chains.len().saturating_sub(1);
    format!(
        "payments on a parent chain and {} from {}, {} s between blocks",
        counted(children, "child chain"),
        counted(chain.accounts.len(), "account"),
        chain.block_s
    )
}

fn one_work(work: &Work) -> String {
    let knobs: Vec<String> = work
        .knobs
        .iter()
        .take(KNOBS_MAX)
        .map(|(knob, value)| match value {
            Value::String(text) => format!("{knob} {text}"),
            Value::Integer(number) => format!("{knob} {}", figure(*number as f64)),
            other => format!("{knob} {other}"),
        })
        .collect();
    match knobs.is_empty() {
        true => work.label.clone(),
        false => format!("{} ({})", work.label, knobs.join(", ")),
    }
}

fn load(load: &Load) -> String {
    match load {
        Load::Closed(closed) => {
            let think = match closed.think {
                Think::Fixed(0.0) | Think::Random(0.0) | Think::Uniform(0.0) => String::new(),
                Think::Fixed(ms) => format!(", a pause of {} ms after each", figure(ms)),
                Think::Random(ms) => format!(", a random pause of {} ms after each", figure(ms)),
                Think::Uniform(ms) => {
                    format!(
                        ", a random pause of 0 to {} ms after each",
                        figure(2.0 * ms)
                    )
                }
            };
            format!("{} outstanding at any moment{think}", closed.outstanding)
        }
        Load::Open(open) => {
            let random = if open.poisson { " at random times" } else { "" };
            match &open.shape {
                Shape::Constant(per_s) => format!("{}/s{random}", figure(*per_s)),
                Shape::Ramp { from, to } => {
                    format!("{} to {}/s{random}", figure(*from), figure(*to))
                }
                Shape::Steps(steps) => format!("{}{random}", counted(steps.len(), "rate")),
            }
        }
        Load::Knee(knee) => format!(
            "a search from {} to {}/s for the highest rate with a p{} of at most {} ms",
            figure(knee.from_per_s),
            figure(knee.to_per_s),
            knee.percentile,
            figure(knee.latency_ms)
        ),
    }
}

/// Returns the repeats, and their measured length: the mean that [`mean_seconds`] gives.
fn measured(plan: Option<&Plan>, point: Option<&Point>) -> String {
    let stretches = point.map_or(&[][..], |point| &point.stretches);
    if stretches.is_empty() {
        return String::new();
    }
    let done: u64 = stretches
        .iter()
        // A report from a file may state any numbers. No run makes a sum above the largest of them.
        .fold(0, |sum, stretch| sum.saturating_add(stretch.done));
    let warm_up = match plan.map(|plan| plan.run.warm_up_s) {
        Some(seconds) if seconds > 0.0 => format!(" after {} of warm-up", duration(seconds)),
        _ => String::new(),
    };
    let each = if stretches.len() == 1 { "" } else { " each" };
    format!(
        "{} of {}{each}{warm_up}; {} units in all",
        counted(stretches.len(), "repeat"),
        duration(mean_seconds(stretches)),
        figure(done as f64)
    )
}

/// Returns the mean measured seconds of some stretches, at least one.
fn mean_seconds(stretches: &[Stretch]) -> f64 {
    let sum: f64 = stretches.iter().map(|stretch| stretch.seconds).sum();
    sum / stretches.len() as f64
}

/// Returns a count with its noun: `1 bank`, `11 banks`.
fn counted(count: impl TryInto<u64>, noun: &str) -> String {
    // Counts of this document fit 64 bits; one that does not is shown as the largest.
    let count = count.try_into().unwrap_or(u64::MAX);
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", figure(count as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::CaseResult;

    fn published(label: &str, conditions: &[(&str, &str)]) -> Published {
        Published {
            label: label.to_owned(),
            conditions: conditions
                .iter()
                .map(|(key, text)| ((*key).to_owned(), (*text).to_owned()))
                .collect(),
            ..Published::default()
        }
    }

    fn scenario(source: &str) -> Scenario {
        let stretch = |seconds, done| Stretch {
            seconds,
            done,
            ..Stretch::default()
        };
        Scenario {
            source: source.to_owned(),
            points: vec![Point {
                stretches: vec![stretch(2.0, 300), stretch(4.0, 500)],
                ..Point::default()
            }],
            ..Scenario::default()
        }
    }

    #[test]
    fn each_source_has_its_conditions() {
        let machine = Machine {
            processor: "EPYC".into(),
            cores: 2,
            memory_bytes: 16_000_000_000,
            ..Machine::default()
        };
        for (source, expected) in [
            (
                "[network]\nbanks = 1\n[work]\nkind = 'swap'\nparties = 10\nsessions = 'parallel'\n[load]\noutstanding = 1\n\
                 [run]\nwarm_up_s = 0.5\n",
                [
                    "one machine: EPYC, 2 cores, 16 GB memory",
                    "notary, 1 bank and the load on the same machine",
                    "each node's embedded store",
                    "swap (parties 10, sessions parallel)",
                    "1 outstanding at any moment",
                    "2 repeats of 3 s each after 500 ms of warm-up; 800 units in all",
                ],
            ),
            (
                "[chain]\nnodes = 4\nchildren = 4\nblock_s = 5\n[load]\nrate = 500\npoisson = true\n[run]\nwarm_up_s = 0\n",
                [
                    "one machine: EPYC, 2 cores, 16 GB memory",
                    "4 chain nodes and the load on the same machine",
                    "each node's embedded store",
                    "payments on a parent chain and 4 child chains from 10 accounts, 5 s between blocks",
                    "500/s at random times",
                    "2 repeats of 3 s each; 800 units in all",
                ],
            ),
        ] {
            let scenario = scenario(source);
            let known = of(&machine, &scenario, scenario.points.first());
            let found: Vec<&str> = known
                .table
                .rows
                .iter()
                .map(|row| row.ours.as_str())
                .collect();
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn lines_with_equal_conditions_share_a_column() {
        let mut scenario = scenario("no scenario");
        scenario.published = vec![
            published("4.3", &[("hardware", "24 cores")]),
            published("none", &[]),
            published("4.4", &[("hardware", "24 cores")]),
            published("Ardor", &[("load", "60 threads")]),
        ];
        let known = of(&Machine::default(), &scenario, scenario.points.first());
        assert_eq!(known.table.theirs, ["4.3; 4.4", "Ardor"]);
        let rows: Vec<(&str, &str, Vec<&str>)> = known
            .table
            .rows
            .iter()
            .map(|row| {
                let theirs = row.theirs.iter();
                let theirs = theirs.map(|one| one.as_deref().unwrap_or("-")).collect();
                (row.title, row.ours.as_str(), theirs)
            })
            .collect();
        assert_eq!(
            rows,
            [
                ("Hardware", "", vec!["24 cores", "-"]),
                ("Load", "", vec!["-", "60 threads"]),
                (
                    "Duration",
                    "2 repeats of 3 s each; 800 units in all",
                    vec!["-", "-"]
                ),
            ]
        );
    }

    #[test]
    fn conditions_are_those_of_the_point() {
        let mut scenario = scenario(
            "[work]\nkind = 'swap'\nparties = 4\n[[sweep]]\nset = 'work.parties'\nvalues = [4, 10]\n",
        );
        scenario.points[0].at = vec![CaseResult {
            axis: "parties".into(),
            name: "10".into(),
            number: Some(10.0),
        }];
        let known = of(&Machine::default(), &scenario, scenario.points.first());
        assert_eq!(known.ours("work"), "swap (parties 10)");
    }
}
