//! A scenario's parts.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::chain::ChainPlan;

/// A scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Short, as in a file's name: what `tally lab run NAME` takes.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// What it shows, in a few sentences; empty if nobody said.
    pub about: String,
    /// All that is random comes from it.
    pub seed: u64,
    /// What to bring up, or what runs already.
    pub network: Network,
    /// A chain instead of a network: then there is no work beside its payments.
    pub chain: Option<ChainPlan>,
    /// What is done: one kind of work, or several by weight.
    pub work: Vec<Work>,
    /// How hard.
    pub load: Load,
    /// How long and how often.
    pub run: Run,
    /// What is varied; nothing, one axis, or the product of several.
    pub sweep: Vec<Axis>,
    /// What is watched meanwhile.
    pub monitors: Monitors,
    /// What is checked after it.
    pub audit: Audit,
    /// Figures published elsewhere, shown beside its own.
    pub published: Vec<PublishedLine>,
    /// The figure that stands for the whole scenario in a line of JSON, by the name of a [`crate::results::Summary`]'s metric.
    pub main_metric: String,
}

/// What to bring up.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// Nodes beside the notary, at least 1: `bank-1` and so on.
    pub banks: u32,
    /// What notary.
    pub notary: NotaryKind,
    /// Settings of every node's configuration, by dotted name.
    pub settings: BTreeMap<String, toml::Value>,
    /// Further settings by node: `notary`, `bank-1`, ...
    pub nodes: BTreeMap<String, NodeSettings>,
    /// Distance and bandwidth between any two nodes; they talk without anything in between if `None`.
    pub link: Option<Link>,
    /// Somebody's running network instead; nothing is brought up, wiped or restarted then.
    pub target: Option<Target>,
}

/// What notary a network has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotaryKind {
    /// One that sees tear-offs only.
    Single,
    /// One that verifies whole transactions.
    Validating,
}

/// One node's own.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeSettings {
    /// Settings that replace or join those of all.
    pub settings: BTreeMap<String, toml::Value>,
    /// Processor cores that it may use, the first so many of the machine's; all of them if `None`.
    pub cores: Option<u32>,
    /// Its own link to everybody, instead of that of all.
    pub link: Option<Link>,
}

/// A link between nodes, the same both ways.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Link {
    /// Milliseconds from one end to the other; a round trip takes twice as long.
    pub delay_ms: f64,
    /// Bandwidth each way in megabits (10^6) a second; as much as the machine carries if `None`.
    pub mbit_per_s: Option<f64>,
}

impl Network {
    /// Whether anything is in between its nodes.
    pub fn is_linked(&self) -> bool {
        self.link.is_some() || self.nodes.values().any(|own| own.link.is_some())
    }
}

/// A network that somebody else runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// Folders of its banks, each with the address, root certificate and token of its API, as bootstrap makes them.
    pub banks: Vec<PathBuf>,
    /// The notary's folder; without it the audit does without the notary's books.
    pub notary: Option<PathBuf>,
}

/// One kind of work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Work {
    /// Which workload, by its registered name: `issue`, `swap`, ...
    pub kind: String,
    /// How it is called in results; the kind if nobody said.
    pub label: String,
    /// Its share among the others, at least 1.
    pub weight: u32,
    /// What can be set about it; the workload checks them.
    pub knobs: BTreeMap<String, toml::Value>,
}

/// How hard.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Load {
    /// A set number outstanding.
    Closed(Closed),
    /// Arrivals at a rate, whether or not the system keeps up.
    Open(Open),
    /// The highest rate of arrivals that still meets a latency target.
    Knee(Knee),
}

/// A closed loop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Closed {
    /// Units outstanding at any moment, at least 1.
    pub outstanding: u32,
    /// What each worker waits between two units.
    pub think: Think,
}

/// What a worker waits between two units.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Think {
    /// Always so many milliseconds; 0 is not at all.
    Fixed(f64),
    /// Exponentially distributed around so many milliseconds.
    Random(f64),
}

/// An open loop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Open {
    /// When units are due.
    pub shape: Shape,
    /// Whether they are due at random around that (Poisson), not evenly.
    pub poisson: bool,
    /// Units outstanding at most; one that is due beyond is dropped, and counted.
    pub outstanding_max: u32,
}

/// How a rate goes over time, in units a second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Shape {
    /// The same rate throughout.
    Constant(f64),
    /// From one rate to another, evenly over the measured time.
    Ramp {
        /// At the beginning.
        from: f64,
        /// At the end.
        to: f64,
    },
    /// One rate after another.
    Steps(Vec<Step>),
}

/// One step of a rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Units a second.
    pub per_s: f64,
    /// For so many seconds.
    pub seconds: f64,
}

/// A search for the highest rate that is still fast enough.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Knee {
    /// The lowest rate tried, units a second.
    pub from_per_s: f64,
    /// The highest.
    pub to_per_s: f64,
    /// Which percentile has to meet the target, such as 99.
    pub percentile: f64,
    /// The target, milliseconds from when a unit was due.
    pub latency_ms: f64,
    /// The search ends when the rates left are so close, as a share of the rate (0.05 is 5 %).
    pub within: f64,
    /// Units outstanding at most.
    pub outstanding_max: u32,
}

/// How long and how often.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Seconds of the same load before each point that are not counted.
    pub warm_up_s: f64,
    /// Seconds that are measured; with `count`, whichever ends first.
    pub seconds: f64,
    /// Units that are measured, if they are counted.
    pub count: Option<u64>,
    /// Measured stretches of each point, at least 1; intervals come from them.
    pub repeats: u32,
    /// Whether repeats of different points take turns (ABAB), as comparisons should, or follow each other (AABB).
    pub interleave: bool,
    /// When the network is restarted.
    pub restart: Restart,
    /// Whether every point begins with a network as prepared, without what earlier points left.
    pub fresh: bool,
}

/// When the network is restarted in good order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restart {
    /// Only where a point's settings call for it.
    Needed,
    /// Before each point.
    Points,
    /// Before each repeat.
    Repeats,
}

/// Something that is varied.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// How it is called in charts.
    pub label: String,
    /// Its cases, in order; at least one.
    pub cases: Vec<Case>,
}

/// One place on an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// As shown: `4`, `sequential`.
    pub name: String,
    /// Where it is on a numeric axis, if all cases are numbers.
    pub number: Option<f64>,
    /// What it sets, by dotted name within the scenario: `work.parties`, `network.settings.p2p.compression`.
    pub set: BTreeMap<String, toml::Value>,
}

/// What is watched.
#[derive(Clone, Debug, PartialEq)]
pub struct Monitors {
    /// Milliseconds between two looks at processes and metrics; 0 watches nothing.
    pub every_ms: u64,
    /// Further metrics of the nodes to keep, by their Prometheus names.
    pub metrics: Vec<String>,
    /// Whether the machine's own limits are measured before the run.
    pub machine: bool,
}

/// What is checked after a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Audit {
    /// Transactions that are read in full; more are sampled evenly.
    pub read_max: u32,
}

/// A line of published figures.
#[derive(Clone, Debug, PartialEq)]
pub struct PublishedLine {
    /// What it is called in a legend: `Corda Enterprise 4.5`.
    pub label: String,
    /// Where it was published, and on what machines.
    pub source: String,
    /// Which metric of ours it stands beside: `rate_per_s`, `mean_ms`, ...
    pub metric: String,
    /// Values by case of the first axis, or by cases of the first few axes with ` / ` between them; a scenario without a sweep
    /// has one, under the empty name.
    pub values: BTreeMap<String, f64>,
}
