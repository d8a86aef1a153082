//! A scenario's parts. Their serde attributes give the form that they have in a file.
//!
//! A file is read by [`parse`](super::parse), which also checks it and fills in defaults.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::cases::{Axis, figures};
use super::chain::ChainPlan;
use super::network::Network;

/// A scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// A short name, as in a file's name: the argument of `tally lab run NAME`.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// A description in a few sentences; empty if none is given.
    pub about: String,
    /// The seed of all random choices.
    pub seed: u64,
    /// The network to bring up or use.
    pub network: Network,
    /// A chain instead of a network.
    pub chain: Option<ChainPlan>,
    /// The work: one kind, or several by weight. Empty only for a chain: then it is payments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub work: Vec<Work>,
    /// The load's intensity.
    pub load: Load,
    /// Duration and repeats.
    pub run: Run,
    /// The axes to vary: none, one, or several whose product is run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sweep: Vec<Axis>,
    /// The monitors during the run.
    pub monitors: Monitors,
    /// The audit after the run.
    pub audit: Audit,
    /// Figures published elsewhere, shown next to its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<PublishedLine>,
    /// The figure that represents the whole scenario in a line of JSON: the name of a [`crate::results::Summary`]'s
    /// metric.
    pub main_metric: String,
}

/// One kind of work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Work {
    /// The workload's registered name: `issue`, `swap`, ...
    pub kind: String,
    /// Its name in results; defaults to the kind.
    pub label: String,
    /// Its share among the others, at least 1.
    pub weight: u32,
    /// Its settings. The workload checks them.
    #[serde(flatten)]
    pub knobs: BTreeMap<String, toml::Value>,
}

/// The intensity of a load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Load {
    // Serde takes the first that a file has all keys of.
    /// The highest rate of arrivals that still meets a latency target.
    Knee(Knee),
    /// Arrivals at a rate, whether or not the system keeps up.
    Open(Open),
    /// A fixed number outstanding.
    Closed(Closed),
}

/// A closed loop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Closed {
    /// Units outstanding at any moment, at least 1.
    pub outstanding: u32,
    /// The pause of each worker between two units.
    #[serde(flatten)]
    pub think: Think,
}

/// A worker's pause between two units.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "think", content = "think_ms", rename_all = "lowercase")]
pub enum Think {
    /// Always this many milliseconds; 0 means no pause.
    Fixed(f64),
    /// Exponentially distributed with this mean, in milliseconds.
    Random(f64),
    /// Uniformly distributed from 0 to twice this mean, in milliseconds.
    Uniform(f64),
}

/// An open loop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Open {
    /// When units are due.
    #[serde(flatten)]
    pub shape: Shape,
    /// Whether arrivals are random (a Poisson process) instead of evenly spaced.
    pub poisson: bool,
    /// Upper limit on outstanding units. A unit that is due above it is dropped and counted.
    pub outstanding_max: u32,
}

/// The rate over time, in units a second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    /// The same rate throughout.
    #[serde(rename = "rate")]
    Constant(f64),
    /// A linear change over the measured time.
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
    /// Its length in seconds.
    pub seconds: f64,
}

/// A search for the highest rate that still meets a latency target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Knee {
    /// The lowest rate tried, units a second.
    pub from_per_s: f64,
    /// The highest.
    pub to_per_s: f64,
    /// The percentile that has to meet the target, such as 99.
    pub percentile: f64,
    /// The target, milliseconds from when a unit was due.
    pub latency_ms: f64,
    /// The search ends when the remaining interval is this small, as a share of the rate (0.05 is 5 %).
    pub within: f64,
    /// Upper limit on outstanding units.
    pub outstanding_max: u32,
}

/// Duration and repeats.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Seconds of the same load before each repeat that are not counted.
    pub warm_up_s: f64,
    /// Measured seconds; with `count`, the first limit reached applies.
    pub seconds: f64,
    /// Measured units, if they are counted.
    pub count: Option<u64>,
    /// Measured stretches of each point, at least 1; intervals come from them.
    pub repeats: u32,
    /// Whether repeats of different points take turns (ABAB), as comparisons should, or follow each other (AABB).
    pub interleave: bool,
    /// When the network is restarted.
    pub restart: Restart,
    /// Whether every point begins with a freshly prepared network, without the data of earlier points.
    pub fresh: bool,
    /// Whether results have the elapsed time of each unit, in the order of their ends.
    pub each_unit: bool,
    /// A fault of a node in each stretch.
    pub fault: Option<Fault>,
}

/// A fault of a node while the load runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fault {
    /// The node: `notary`, `notary-2`, `bank-1`, ...
    pub node: String,
    /// The kind of fault of its process.
    #[serde(flatten)]
    pub kind: FaultKind,
    /// When, in measured seconds.
    pub at_s: f64,
}

/// A kind of fault of a node's process.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "for_s", rename_all = "lowercase")]
pub enum FaultKind {
    /// It is killed, and started again after the stretch.
    Kill,
    /// It stops without a word, and goes on after this many seconds.
    Freeze(f64),
}

/// When the network is restarted, with an orderly stop before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Restart {
    /// Only where a point's settings call for it.
    Needed,
    /// Before each point.
    Points,
    /// Before each repeat.
    Repeats,
}

/// Monitoring during the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Monitors {
    /// Milliseconds between two readings of processes and metrics; 0 disables monitoring.
    pub every_ms: u64,
    /// Further metrics of the nodes to keep, by their Prometheus names.
    #[serde(default)]
    pub metrics: Vec<String>,
    /// Whether the machine's own limits are measured before the run.
    pub machine: bool,
}

/// The audit after a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Audit {
    /// Transactions that are read in full. If there are more, they are sampled evenly.
    pub read_max: u32,
}

/// A line of published figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PublishedLine {
    /// Its name in a legend: `Corda Enterprise 4.5`.
    pub label: String,
    /// The publication, and the machines used.
    pub source: String,
    /// The address of the publication, `https://...`; empty if it has none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub url: String,
    /// The published conditions, by key of [`crate::results::CONDITIONS`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub conditions: BTreeMap<String, String>,
    /// Our metric that it is compared with: `rate_per_s`, `mean_ms`, ...
    pub metric: String,
    /// Values by case of the first axis, or by cases of the first few axes joined with ` / `. A scenario without a sweep
    /// has one value, under the empty name.
    #[serde(default, deserialize_with = "figures")]
    pub values: BTreeMap<String, f64>,
    /// Standard deviations of some of the values, by the same names.
    #[serde(
        default,
        deserialize_with = "figures",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub deviations: BTreeMap<String, f64>,
}
