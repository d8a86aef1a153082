//! A scenario's parts.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::chain::ChainPlan;

/// A scenario.
#[derive(Clone, Debug, PartialEq)]
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
    pub work: Vec<Work>,
    /// The load's intensity.
    pub load: Load,
    /// Duration and repeats.
    pub run: Run,
    /// The axes to vary: none, one, or several whose product is run.
    pub sweep: Vec<Axis>,
    /// The monitors during the run.
    pub monitors: Monitors,
    /// The audit after the run.
    pub audit: Audit,
    /// Figures published elsewhere, shown next to its own.
    pub published: Vec<PublishedLine>,
    /// The figure that represents the whole scenario in a line of JSON: the name of a [`crate::results::Summary`]'s
    /// metric.
    pub main_metric: String,
}

/// The network to bring up or use.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// Nodes in addition to the notary, at least 1: `bank-1` and so on.
    pub banks: u32,
    /// The kind of notary.
    pub notary: NotaryKind,
    /// Members of the network without a node, whose requests the laboratory sends to the notary itself.
    pub requesters: u32,
    /// Where the nodes keep their data.
    pub database: DatabaseKind,
    /// Round trip between a node and the database server, in milliseconds. If `None`, they connect directly.
    pub database_latency_ms: Option<f64>,
    /// Settings of every node's configuration, by dotted name.
    pub settings: BTreeMap<String, toml::Value>,
    /// Further settings by node: `notary`, `bank-1`, ...
    pub nodes: BTreeMap<String, NodeSettings>,
    /// Delay and bandwidth between any two nodes. If `None`, they connect directly.
    pub link: Option<Link>,
    /// An existing network or another system to use instead. The laboratory starts, wipes and restarts no node then.
    pub target: Option<Target>,
}

/// The kind of notary in a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NotaryKind {
    /// A notary that sees tear-offs only.
    Single,
    /// A notary that verifies whole transactions.
    Validating,
    /// A notary of several workers that share a record in a database, which the laboratory starts.
    Replicated {
        /// The database.
        backend: NotaryBackend,
        /// The number of workers, at least 1.
        workers: u32,
    },
}

/// The database of a replicated notary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NotaryBackend {
    /// A MariaDB Galera cluster of three servers.
    Galera,
    /// One PostgreSQL server.
    Postgres,
}

/// Where nodes keep their data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatabaseKind {
    /// In their own folders.
    Embedded,
    /// On one PostgreSQL server, which the laboratory starts.
    Postgres,
}

/// The configuration of a single node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeSettings {
    /// Settings that replace or extend those of all nodes.
    pub settings: BTreeMap<String, toml::Value>,
    /// Number of processor cores that it may use, counted from the machine's first; all if `None`.
    pub cores: Option<u32>,
    /// Its own link to every other node, instead of the common link.
    pub link: Option<Link>,
}

/// A link between nodes, the same both ways.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Link {
    /// Milliseconds from one end to the other; a round trip takes twice as long.
    pub delay_ms: f64,
    /// Bandwidth each way in megabits (10^6) a second; unlimited if `None`.
    pub mbit_per_s: Option<f64>,
}

impl Network {
    /// Returns the names of its nodes.
    pub fn node_names(&self) -> Vec<String> {
        let workers = match self.notary {
            NotaryKind::Replicated { workers, .. } => workers,
            NotaryKind::Single | NotaryKind::Validating => 1,
        };
        let mut names = vec!["notary".to_owned()];
        names.extend((2..=workers).map(|worker| format!("notary-{worker}")));
        names.extend((1..=self.banks).map(|bank| format!("bank-{bank}")));
        names
    }

    /// Returns whether any of its nodes connect through a link.
    pub fn is_linked(&self) -> bool {
        self.link.is_some() || self.nodes.values().any(|own| own.link.is_some())
    }
}

/// A running network or another system, measured instead of a network that is brought up.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// An existing network.
    Nodes {
        /// Folders of its banks, each with the address, root certificate and token of its API, as bootstrap makes them.
        banks: Vec<PathBuf>,
        /// The notary's folder. Without it the audit skips the notary's books.
        notary: Option<PathBuf>,
    },
    /// Another system.
    Connector(ConnectorProgram),
}

impl Target {
    /// Returns the connector of another system.
    pub fn connector(&self) -> Option<&ConnectorProgram> {
        match self {
            Target::Nodes { .. } => None,
            Target::Connector(program) => Some(program),
        }
    }
}

/// The program that connects another system to the laboratory.
#[derive(Clone, Debug, PartialEq)]
pub enum ConnectorProgram {
    /// The shipped one for plain PostgreSQL.
    Postgres,
    /// A program and its arguments.
    Command(Vec<String>),
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
    pub knobs: BTreeMap<String, toml::Value>,
}

/// The intensity of a load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Load {
    /// A fixed number outstanding.
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
    /// The pause of each worker between two units.
    pub think: Think,
}

/// A worker's pause between two units.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
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
    pub shape: Shape,
    /// Whether arrivals are random (a Poisson process) instead of evenly spaced.
    pub poisson: bool,
    /// Upper limit on outstanding units. A unit that is due above it is dropped and counted.
    pub outstanding_max: u32,
}

/// The rate over time, in units a second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Shape {
    /// The same rate throughout.
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
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Seconds of the same load before each point that are not counted.
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
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// The node: `notary`, `notary-2`, `bank-1`, ...
    pub node: String,
    /// The kind of fault of its process.
    pub kind: FaultKind,
    /// When, in measured seconds.
    pub at_s: f64,
}

/// A kind of fault of a node's process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FaultKind {
    /// It is killed, and started again after the stretch.
    Kill,
    /// It stops without a word, and goes on after this many seconds.
    Freeze(f64),
}

/// When the network is restarted, with an orderly stop before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restart {
    /// Only where a point's settings call for it.
    Needed,
    /// Before each point.
    Points,
    /// Before each repeat.
    Repeats,
}

/// A varied setting.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Its name in charts.
    pub label: String,
    /// Its cases, in order; at least one.
    pub cases: Vec<Case>,
}

/// One place on an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Its display name: `4`, `sequential`.
    pub name: String,
    /// Its position on a numeric axis, if all cases are numbers.
    pub number: Option<f64>,
    /// The settings it makes, by dotted name within the scenario: `work.parties`, `network.settings.p2p.compression`.
    pub set: BTreeMap<String, toml::Value>,
}

/// Monitoring during the run.
#[derive(Clone, Debug, PartialEq)]
pub struct Monitors {
    /// Milliseconds between two readings of processes and metrics; 0 disables monitoring.
    pub every_ms: u64,
    /// Further metrics of the nodes to keep, by their Prometheus names.
    pub metrics: Vec<String>,
    /// Whether the machine's own limits are measured before the run.
    pub machine: bool,
}

/// The audit after a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Audit {
    /// Transactions that are read in full. If there are more, they are sampled evenly.
    pub read_max: u32,
}

/// A line of published figures.
#[derive(Clone, Debug, PartialEq)]
pub struct PublishedLine {
    /// Its name in a legend: `Corda Enterprise 4.5`.
    pub label: String,
    /// The publication, and the machines used.
    pub source: String,
    /// The address of the publication, `https://...`; empty if it has none.
    pub url: String,
    /// The published conditions, by key of [`crate::results::CONDITIONS`].
    pub conditions: BTreeMap<String, String>,
    /// Our metric that it is compared with: `rate_per_s`, `mean_ms`, ...
    pub metric: String,
    /// Values by case of the first axis, or by cases of the first few axes joined with ` / `. A scenario without a sweep
    /// has one value, under the empty name.
    pub values: BTreeMap<String, f64>,
    /// Standard deviations of some of the values, by the same names.
    pub deviations: BTreeMap<String, f64>,
}
