//! The document's parts. Times are milliseconds since the start of the scenario unless a name says otherwise; sizes are bytes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::chain::ChainResult;
use super::fault::Fault;
use super::missing_readings::MissingReadings;
use super::samples::Histogram;

/// The schema of the document that this program writes. A reader refuses newer ones.
pub const SCHEMA: u32 = 1;

/// Separates the cases in a name of [`Published::values`].
pub const CASES_JOINED: &str = " / ";

/// Keys and titles of the conditions of a measurement, in the order of tables.
pub const CONDITIONS: [(&str, &str); 6] = [
    ("hardware", "Hardware"),
    ("nodes", "Nodes"),
    ("store", "Store"),
    ("work", "Work"),
    ("load", "Load"),
    ("duration", "Duration"),
];

/// The complete result of one `tally lab run`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The [`SCHEMA`] of the program that wrote it.
    pub schema: u32,
    /// One line for people.
    pub title: String,
    /// The start time, milliseconds since 1970.
    pub started_unix_ms: u64,
    /// The duration, seconds.
    pub seconds: f64,
    /// The version of `tally`, of generator and nodes.
    pub version: String,
    /// The machine it ran on.
    pub machine: Machine,
    /// The scenarios, in the order of execution.
    pub scenarios: Vec<Scenario>,
    /// Whether the run was stopped early.
    pub interrupted: bool,
}

/// A machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// The processor's own name.
    pub processor: String,
    /// Cores that this program may use.
    pub cores: u32,
    /// Memory.
    pub memory_bytes: u64,
    /// Name and version of the operating system's kernel.
    pub system: String,
    /// Whether it is a virtual machine, with its maker's name for it; empty if the system does not say.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub virtual_machine: String,
    /// The file system and the device under the nodes' folders; empty if the system does not say.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub disk: String,
    /// Cores that other programs kept busy directly before the run; `None` if it was not observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy_cores_before: Option<f64>,
    /// The one-minute load average before the run: the load of other processes.
    pub load_average_before: f64,
    /// The one-minute load average after the run.
    pub load_average_after: f64,
    /// Its limits, if they were measured.
    pub limits: Option<Limits>,
}

/// A machine's own limits, each measured alone on one core unless a name says otherwise.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Ed25519 signatures made a second.
    pub signs_per_s: f64,
    /// Ed25519 signatures checked a second, in batches.
    pub checks_per_s: f64,
    /// SHA-256, megabytes (10^6) a second.
    pub hash_mb_per_s: f64,
    /// Durable commits of 4 KiB a second, one after the other.
    pub commits_per_s: f64,
    /// The median time of one, microseconds.
    pub commit_us: f64,
    /// One TLS connection over loopback, Mbit/s one way, both ends on this machine.
    pub tls_mbit_per_s: f64,
    /// A round trip of one small message over it, microseconds, the median.
    pub loopback_us: f64,
    /// Throughput of files, measured only if the work moves any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<FileLimits>,
}

/// The file throughput of a machine, megabytes (10^6) a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FileLimits {
    /// Files written and synced.
    pub disk_mb_per_s: f64,
    /// One TLS connection over loopback, both ends on this machine.
    pub tls_mb_per_s: f64,
    /// SHA-256 on one core.
    pub hash_mb_per_s: f64,
    /// From a cached file through TLS into another that is hashed and synced: the best that one node can send to another.
    pub together_mb_per_s: f64,
}

impl FileLimits {
    /// Returns the lowest of disk, TLS and hash, each measured alone.
    pub fn least_mb_per_s(&self) -> f64 {
        self.disk_mb_per_s
            .min(self.tls_mb_per_s)
            .min(self.hash_mb_per_s)
    }
}

/// The results of one scenario.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Scenario {
    /// Its short name.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// Its description.
    pub about: String,
    /// The exact scenario, as TOML that runs again.
    pub source: String,
    /// The seed.
    pub seed: u64,
    /// Whether it ran at its published size.
    pub full: bool,
    /// The start time, milliseconds since 1970.
    pub started_unix_ms: u64,
    /// The duration, seconds, with preparation and audit.
    pub seconds: f64,
    /// The names of its axes; empty without a sweep.
    pub axes: Vec<String>,
    /// Its points, in order.
    pub points: Vec<Point>,
    /// Published figures to compare it with.
    pub published: Vec<Published>,
    /// Its main metric.
    pub main_metric: String,
    /// Warnings about its results: alarms of the generator, failed audits, short windows.
    pub findings: Vec<Finding>,
    /// Why it stopped, as `code: message`; `None` if it ran to its end.
    pub failure: Option<String>,
}

impl Scenario {
    /// Returns whether it ran to its end and all its audits are clean.
    pub fn is_good(&self) -> bool {
        let audits = || self.points.iter().flat_map(|point| &point.audits);
        self.failure.is_none() && audits().all(|audit| audit.clean)
    }
}

/// A warning about a result.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// A stable code, `lab.generator_limit`.
    pub code: String,
    /// The message, with the action to take.
    pub message: String,
}

/// One point of a sweep, or the whole of a scenario without one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Its position on each axis.
    pub at: Vec<CaseResult>,
    /// Another system and its version, as its connector names it; empty for our own nodes.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub system: String,
    /// The measured stretches, one for each repeat.
    pub stretches: Vec<Stretch>,
    /// Over all repeats.
    pub summary: Summary,
    /// The audits after it. The points of one network may share an audit, which is then listed with the last of them.
    pub audits: Vec<AuditResult>,
    /// Its distances from the machine's limits; empty if those were not measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub distances: Vec<Distance>,
}

/// A point's use of one limit of the machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Distance {
    /// The limited quantity, in words that follow a number: `signature checks a second`.
    pub what: String,
    /// The amount that the point used, summed over its nodes unless `what` says otherwise.
    pub used: f64,
    /// The machine's limit.
    pub limit: f64,
    /// The meaning of that limit.
    pub note: String,
    /// Whether several cores or nodes together can pass the limit, so that a full share alone proves no bottleneck.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub can_pass: bool,
}

impl Distance {
    /// Returns the used share of the limit, 0 to 1. It can exceed 1 if the limit is that of one core and several worked.
    pub fn share(&self) -> f64 {
        self.used / self.limit
    }
}

/// A position on an axis.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CaseResult {
    /// The axis.
    pub axis: String,
    /// The case, as shown.
    pub name: String,
    /// Its position on a numeric axis.
    pub number: Option<f64>,
}

/// One measured stretch of load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stretch {
    /// The begin of its measurement.
    pub started_ms: u64,
    /// Measured seconds: from its first start until everything started had ended and every view had caught up.
    pub seconds: f64,
    /// Units that were due (open loop), or started (closed).
    pub due: u64,
    /// Units completed: delivered to all.
    pub done: u64,
    /// Units that failed, by code.
    pub faults: Vec<Fault>,
    /// Units never started, because too many were outstanding (open loop).
    pub dropped: u64,
    /// Units started more than [`Generator::late_after_ms`] after they were due (open loop).
    pub late: u64,
    /// Tries beyond the first of each unit. A unit counts once, however often it was tried.
    pub retries: u64,
    /// Latencies of completed units: from when one was due (open loop) or started (closed) to its delivery.
    pub latencies: Histogram,
    /// The same by kind of work, where there are several.
    pub works: Vec<WorkResult>,
    /// Second by second.
    pub series: Vec<Second>,
    /// The state of the load generator itself, such as its lag.
    pub generator: Generator,
    /// Processes over time.
    pub processes: Vec<Process>,
    /// Metrics of nodes over time.
    pub metrics: Vec<MetricSeries>,
    /// Growth of all nodes' files over the stretch; `None` if it cannot be observed, as on another machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_bytes: Option<u64>,
    /// The time that the slowest node took from its start until it was ready, if all nodes were restarted directly before the
    /// stretch (`run.restart`), milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_ms: Option<f64>,
    /// Units a second that were tried, in a search for the knee, with whether each met the target.
    pub tried: Vec<(f64, bool)>,
    /// Each unit in the order of its end, if the scenario keeps them (`run.each_unit`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub units: Vec<UnitResult>,
    /// The figures of each of these trials, in the same order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trials: Vec<Trial>,
    /// The results specific to a chain; `None` otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chain: Option<Box<ChainResult>>,
    /// Its figures by metric's name, in a saved run file only. They replace the readings that the file leaves out.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub figures: BTreeMap<String, f64>,
    /// The points that the lines of its drifts go through, by metric's name, in a saved run file with a single repeat only: hours,
    /// and the value in the metric's unit.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub drift_blocks: BTreeMap<String, Vec<(f64, f64)>>,
}

impl Stretch {
    /// Returns the completed units per second.
    pub fn per_s(&self) -> f64 {
        if self.seconds > 0.0 {
            self.done as f64 / self.seconds
        } else {
            0.0
        }
    }

    /// Returns the units that were due: completed, failed or dropped. Every share of units is a share of these. Clipped, since a
    /// report that was read from a file may hold any numbers.
    pub fn due_units(&self) -> u64 {
        let ended = self.done.saturating_add(self.failed());
        ended.saturating_add(self.dropped)
    }

    /// Returns the knee that a search found: the rate of its last trial, which confirms it, if a higher one failed. `None` without
    /// a search, or if it did not end between its bounds.
    pub fn knee_per_s(&self) -> Option<f64> {
        let (rate, met) = self.tried.last()?;
        let is_between = *met && self.tried.iter().any(|(_, met)| !met);
        is_between.then_some(*rate)
    }

    /// Returns the highest rate that a search tried, if every rate met the target: the knee is above it.
    pub fn knee_above_per_s(&self) -> Option<f64> {
        let is_above = self.tried.iter().all(|(_, met)| *met);
        let rates = self.tried.iter().map(|(rate, _)| *rate);
        rates.reduce(f64::max).filter(|_| is_above)
    }

    /// Returns the number of failed units. Clipped, since a report that was read from a file may hold any numbers.
    pub fn failed(&self) -> u64 {
        let counts = self.faults.iter().map(|fault| fault.count);
        counts.fold(0u64, u64::saturating_add)
    }
}

/// One unit of a stretch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnitResult {
    /// When it was due (open loop) or started (closed), milliseconds since the first unit.
    pub at_ms: u64,
    /// From that time to its end, microseconds.
    pub elapsed_us: u64,
    /// The error code if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

/// One rate that a search for the knee offered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Units that were due a second.
    pub offered_per_s: f64,
    /// Units completed a second.
    pub done_per_s: f64,
    /// The median latency, milliseconds; `None` with too few samples for it.
    pub p50_ms: Option<f64>,
    /// The 95th percentile.
    pub p95_ms: Option<f64>,
    /// The 99th percentile.
    pub p99_ms: Option<f64>,
}

impl Trial {
    /// Returns the figures of a stretch at this rate.
    pub fn of(offered_per_s: f64, stretch: &Stretch) -> Self {
        let percentile = |share| stretch.latencies.percentile_ms(share);
        Self {
            offered_per_s,
            done_per_s: stretch.per_s(),
            p50_ms: percentile(0.5),
            p95_ms: percentile(0.95),
            p99_ms: percentile(0.99),
        }
    }
}

/// The results of one kind of work in a mix.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkResult {
    /// Its label.
    pub label: String,
    /// Units completed.
    pub done: u64,
    /// Units failed.
    pub failed: u64,
    /// Latencies of the completed ones.
    pub latencies: Histogram,
}

/// One second of a stretch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Second {
    /// The start time.
    pub at_ms: u64,
    /// Units completed in it.
    pub done: u64,
    /// Units failed in it.
    pub failed: u64,
    /// The median of those completed, milliseconds; 0 if there were none.
    pub p50_ms: f64,
    /// The 99th percentile.
    pub p99_ms: f64,
    /// Units outstanding at its end.
    pub outstanding: u64,
}

/// The load generator: whether its own limits affected the measurement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Generator {
    /// Its processor use, in cores.
    pub cpu_cores: f64,
    /// The delay of its timers: the 99th percentile, milliseconds.
    pub lag_p99_ms: f64,
    /// The longest such delay, milliseconds.
    pub lag_max_ms: f64,
    /// The longest time from a unit's due time to its start, milliseconds (open loop).
    pub behind_max_ms: f64,
    /// A unit counts as late if it starts this much after it was due, milliseconds; 0 in a closed loop, whose units are never due.
    pub late_after_ms: f64,
    /// Processes that generated, agents included.
    pub agents: u32,
    /// Agents that died during the stretch. Their results until then count.
    pub agents_lost: u32,
}

/// The readings of one process during the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Process {
    /// `notary`, `bank-1`, `generator`.
    pub name: String,
    /// Readings of it.
    pub samples: Vec<ProcessSample>,
}

/// Returns whether a process of this name generates the load or passes it on.
pub fn is_load(name: &str) -> bool {
    ["generator", "connector"].contains(&name) || name.starts_with("agent")
}

/// Returns whether a process of this name is a server of the nodes' or the notary's database.
pub fn is_database(name: &str) -> bool {
    ["database", "notary-database"].iter().any(|role| {
        let rest = name.strip_prefix(role);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    })
}

impl Process {
    /// Returns whether it is a server of a database, which makes no decisions of a node.
    pub fn is_database(&self) -> bool {
        is_database(&self.name)
    }

    /// Returns the cores that it may use, if they are fewer than those of the laboratory.
    pub fn cores(&self) -> Option<u32> {
        self.samples.iter().filter_map(|sample| sample.cores).max()
    }

    /// Returns whether it generates the load or passes it on, and so is not part of the measured system.
    pub fn is_generator(&self) -> bool {
        is_load(&self.name)
    }
}

/// One reading of a process. Counters count from the process's start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProcessSample {
    /// The time of the reading.
    pub at_ms: u64,
    /// Processor time so far, milliseconds.
    pub cpu_ms: u64,
    /// Resident memory.
    pub rss_bytes: u64,
    /// Bytes that it caused to be read from disks.
    pub read_bytes: u64,
    /// Bytes it has written: the smaller of the bytes passed to write calls (including connections that it writes like
    /// files) and the bytes of the pages that it touched.
    pub written_bytes: u64,
    /// Durable commits so far, as the node counts them.
    pub commits: u64,
    /// Bytes sent to nodes so far, on the wire: by a node to others, by the generator to those that it drives.
    pub sent_bytes: u64,
    /// Bytes received from nodes so far.
    pub received_bytes: u64,
    /// Bytes that a node sent to its clients so far, on the wire.
    #[serde(default)]
    pub to_clients_bytes: u64,
    /// Bytes that it received from them.
    #[serde(default)]
    pub from_clients_bytes: u64,
    /// The size of its folder, read at intervals; 0 if it was not read.
    #[serde(default)]
    pub disk_bytes: u64,
    /// The part of the folder that is a log of bounded size; `None` if it was not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_bytes: Option<u64>,
    /// Cores that it may use, if they are fewer than those of this program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cores: Option<u32>,
    /// The readings that it lacks.
    #[serde(default, skip_serializing_if = "MissingReadings::is_nothing")]
    pub missing: MissingReadings,
    /// Processor time so far of the thread that makes a node's decisions, microseconds; `None` if it was not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_us: Option<u64>,
    /// The part of it that went into jobs, which other threads could do as well, microseconds; `None` if it was not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_jobs_us: Option<u64>,
}

/// A node's metric over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MetricSeries {
    /// The node.
    pub node: String,
    /// Its Prometheus name, with labels.
    pub name: String,
    /// Times and values.
    pub values: Vec<(u64, f64)>,
}

/// A figure with its uncertainty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The estimate: the mean of the repeats, or the figure of the only one.
    pub value: f64,
    /// The lower end of its 95 % confidence interval; `None` if there is only one repeat.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
}

/// A point in figures. `metrics` holds estimates over the repeats:
///
/// - All loads: `rate_per_s`, `mean_ms`, `p50_ms`, `p90_ms`, `p95_ms`, `p99_ms`, `max_ms`, `error_share`, `retries_per_unit`,
///   `cpu_us_per_unit`, `written_bytes_per_unit` and `disk_bytes_per_unit` (summed over nodes and databases), `commits_per_unit`
///   (summed over nodes), `rss_mb_max` (the largest node), `database_rss_mb_max` (the largest database server), `sent_mbit_per_s` (the first bank), `generator_cpu_cores`.
/// - Nodes on this machine: `serial_us_per_unit` (the thread of the busiest node that makes decisions, without jobs that
///   other threads could do) and `ceiling_per_s`, the rate at which it fills one core.
/// - Nodes restarted before each stretch: `start_ms`.
/// - Open loop: `dropped_share` and `late_share`.
/// - Search: `knee_per_s`.
/// - Work with a known number of states per unit: `states_per_s`.
/// - Units that move files: `file_mb_per_s`.
/// - Stretches of a minute and more: `rate_drift_percent_per_h`, `p50_drift_percent_per_h`, `rss_drift_mb_per_h` (summed over
///   the nodes), `database_rss_drift_mb_per_h` (summed over the database servers) and `disk_mb_per_h` (summed over both).
/// - Chains: `chain_tps` (payments a second in blocks, the least over the nodes), `to_block_p50_s`, `to_block_p95_s`,
///   `block_s`, `fork_depth_max` and `chain_bytes_per_tx`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The estimates by metric's name.
    pub metrics: BTreeMap<String, Estimate>,
}

/// The result of an audit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditResult {
    /// Whether it found no fault.
    pub clean: bool,
    /// The comparison made, or the findings, in words.
    pub words: String,
    /// Acknowledged transactions checked.
    pub transactions: u64,
}

/// A line of published figures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Published {
    /// Its name.
    pub label: String,
    /// The publication, and the machines used.
    pub source: String,
    /// The address of the publication, `https://...`; empty if it has none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub url: String,
    /// The conditions of the measurement, as published: values by key of [`CONDITIONS`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub conditions: BTreeMap<String, String>,
    /// The metric that it is compared with.
    pub metric: String,
    /// Values by case of the first axis, or by the cases of the first few axes joined with ` / `. Without axes the value
    /// has the empty name.
    pub values: BTreeMap<String, f64>,
    /// Standard deviations of some of the values, by the same names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub deviations: BTreeMap<String, f64>,
}

impl Published {
    /// Returns the value to compare with a point: the one whose name matches the most cases, since it is the most
    /// specific.
    pub fn value_at(&self, at: &[CaseResult]) -> Option<f64> {
        found_at(&self.values, at)
    }

    /// Returns the standard deviation of [`value_at`](Self::value_at), if it was published.
    pub fn deviation_at(&self, at: &[CaseResult]) -> Option<f64> {
        found_at(&self.deviations, at)
    }
}

/// Returns whether a text is an address that a page may link to.
pub fn is_link(text: &str) -> bool {
    let is_plain = |letter: char| letter.is_ascii_graphic() && !"\"'<>`\\".contains(letter);
    text.strip_prefix("https://")
        .is_some_and(|rest| !rest.is_empty() && rest.chars().all(is_plain))
}

/// Returns the figure whose name matches the most cases of a point.
fn found_at(figures: &BTreeMap<String, f64>, at: &[CaseResult]) -> Option<f64> {
    let names: Vec<&str> = at.iter().map(|case| case.name.as_str()).collect();
    let keys = (names.len().min(1)..=names.len()).rev();
    let mut found = keys.filter_map(|count| figures.get(&names[..count].join(CASES_JOINED)));
    found.next().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn databases_are_known_by_their_names() {
        for (name, expected) in [
            ("database", true),
            ("notary-database", true),
            ("notary-database-3", true),
            ("notary", false),
            ("notary-2", false),
            ("bank-1", false),
            ("databases", false),
        ] {
            assert_eq!(is_database(name), expected, "{name}");
        }
    }

    #[test]
    fn a_search_whose_every_rate_met_the_target_has_no_knee() {
        for (tried, knee, above) in [
            (&[][..], None, None),
            (
                &[(100.0, true), (200.0, true), (200.0, true)],
                None,
                Some(200.0),
            ),
            (
                &[(100.0, true), (400.0, false), (200.0, true)],
                Some(200.0),
                None,
            ),
            (&[(100.0, false)], None, None),
            (&[(100.0, true), (200.0, false)], None, None),
        ] {
            let stretch = Stretch {
                tried: tried.to_vec(),
                ..Stretch::default()
            };
            let found = (stretch.knee_per_s(), stretch.knee_above_per_s());
            assert_eq!(found, (knee, above), "{tried:?}");
        }
    }

    #[test]
    fn only_plain_secure_addresses_are_links() {
        for (text, expected) in [
            ("https://example.org/a?b=c#d", true),
            ("https://", false),
            ("http://example.org", false),
            ("javascript:alert(1)", false),
            ("https://example.org/\" onclick=x", false),
            ("https://example.org/<b>", false),
            ("", false),
        ] {
            assert_eq!(is_link(text), expected, "{text}");
        }
    }

    #[test]
    fn published_values_stand_where_they_were_measured() {
        let values = [
            ("slow", 1.0),
            ("slow / 4 parties", 2.0),
            ("fast / 4 parties", 3.0),
        ];
        let line = Published {
            values: values.map(|(name, value)| (name.to_owned(), value)).into(),
            deviations: [("slow / 4 parties".to_owned(), 0.5)].into(),
            ..Published::default()
        };
        for (names, expected) in [
            (&["slow", "4 parties"][..], Some(2.0)),
            (&["slow", "10 parties"], Some(1.0)),
            (&["fast", "4 parties"], Some(3.0)),
            (&["fast", "10 parties"], None),
            (&["fast"], None),
            (&[], None),
        ] {
            let case = |name: &&str| CaseResult {
                name: (*name).to_owned(),
                ..CaseResult::default()
            };
            let at: Vec<CaseResult> = names.iter().map(case).collect();
            assert_eq!(line.value_at(&at), expected, "{names:?}");
            let deviation = expected.filter(|value| *value == 2.0).map(|_| 0.5);
            assert_eq!(line.deviation_at(&at), deviation, "{names:?}");
        }
        let alone = Published {
            values: [(String::new(), 5.0)].into(),
            ..Published::default()
        };
        assert_eq!(alone.value_at(&[]), Some(5.0));
    }
}
