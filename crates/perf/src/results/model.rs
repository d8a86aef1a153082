//! The document's parts. Times are milliseconds since the start of the scenario unless a name says otherwise; sizes are bytes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::chain::ChainResult;
use super::samples::Histogram;

/// Which form of document this program writes; a reader refuses newer ones.
pub const SCHEMA: u32 = 1;

/// Between the cases in a name of [`Published::values`].
pub const CASES_JOINED: &str = " / ";

/// Everything that one `tally lab run` gave.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`SCHEMA`] of who wrote it.
    pub schema: u32,
    /// One line for people.
    pub title: String,
    /// When it began, milliseconds since 1970.
    pub started_unix_ms: u64,
    /// How long it took, seconds.
    pub seconds: f64,
    /// The version of `tally`, of generator and nodes.
    pub version: String,
    /// Where it ran.
    pub machine: Machine,
    /// The scenarios, in the order in which they ran.
    pub scenarios: Vec<Scenario>,
    /// Whether somebody ended it early.
    pub interrupted: bool,
}

/// A machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// As the processor calls itself.
    pub processor: String,
    /// Cores that this program may use.
    pub cores: u32,
    /// Memory.
    pub memory_bytes: u64,
    /// Name and version of the operating system's kernel.
    pub system: String,
    /// The one-minute load average before the run: what else ran.
    pub load_average_before: f64,
    /// And after it.
    pub load_average_after: f64,
    /// What it could do at most, if that was measured.
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
    /// With files, measured only where the work moves any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<FileLimits>,
}

/// What a machine can do with files, megabytes (10^6) a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FileLimits {
    /// Files written and synced.
    pub disk_mb_per_s: f64,
    /// One TLS connection over loopback, both ends on this machine.
    pub tls_mb_per_s: f64,
    /// SHA-256 on one core.
    pub hash_mb_per_s: f64,
    /// From a cached file through TLS into another that is hashed and synced, as a node sends to another at best.
    pub together_mb_per_s: f64,
}

impl FileLimits {
    /// The tightest of disk, TLS and hash, each alone.
    pub fn least_mb_per_s(&self) -> f64 {
        self.disk_mb_per_s
            .min(self.tls_mb_per_s)
            .min(self.hash_mb_per_s)
    }

    /// The mean of two measurements, one before and one after what is held against them: a shared machine drifts.
    #[must_use]
    pub fn mean(&self, other: &Self) -> Self {
        let mean = |one: f64, other: f64| f64::midpoint(one, other);
        Self {
            disk_mb_per_s: mean(self.disk_mb_per_s, other.disk_mb_per_s),
            tls_mb_per_s: mean(self.tls_mb_per_s, other.tls_mb_per_s),
            hash_mb_per_s: mean(self.hash_mb_per_s, other.hash_mb_per_s),
            together_mb_per_s: mean(self.together_mb_per_s, other.together_mb_per_s),
        }
    }
}

/// What one scenario gave.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Scenario {
    /// Its short name.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// What it shows.
    pub about: String,
    /// The exact scenario, as TOML that runs again.
    pub source: String,
    /// The seed.
    pub seed: u64,
    /// Whether it ran at its published size.
    pub full: bool,
    /// When it began, milliseconds since 1970.
    pub started_unix_ms: u64,
    /// How long it took, seconds, with preparation and audit.
    pub seconds: f64,
    /// What its axes are called; empty without a sweep.
    pub axes: Vec<String>,
    /// Its points, in order.
    pub points: Vec<Point>,
    /// Published figures beside it.
    pub published: Vec<Published>,
    /// The metric that stands for it.
    pub main_metric: String,
    /// What people should know before they believe it: alarms of the generator, failed audits, short windows.
    pub findings: Vec<Finding>,
    /// Why it went no further, as `code: words`; `None` if it ran to its end.
    pub failure: Option<String>,
}

impl Scenario {
    /// Whether it ran to its end and nothing is wrong with what it left.
    pub fn is_good(&self) -> bool {
        let audits = || self.points.iter().flat_map(|point| &point.audits);
        self.failure.is_none() && audits().all(|audit| audit.clean)
    }
}

/// Something that people should know.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// A stable code, `lab.generator_limit`.
    pub code: String,
    /// In words, with what to do.
    pub message: String,
}

/// One point of a sweep, or the whole of a scenario without one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Where it is on each axis.
    pub at: Vec<CaseResult>,
    /// What was measured, once for each repeat.
    pub stretches: Vec<Stretch>,
    /// Over all repeats.
    pub summary: Summary,
    /// What the audits after it said; the points of one network may share an audit, which then stands at the last.
    pub audits: Vec<AuditResult>,
    /// How near it came to what the machine can do at most; nothing where that was not measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub distances: Vec<Distance>,
}

/// What a point used of one limit of the machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Distance {
    /// Of what, in words that follow a number: `signature checks a second`.
    pub what: String,
    /// How much the point used, all its nodes together unless `what` says otherwise.
    pub used: f64,
    /// What the machine can do at most.
    pub limit: f64,
    /// What that limit means.
    pub note: String,
}

impl Distance {
    /// The part of the limit that was used, 0 to 1 and above where the limit is one core's and more worked.
    pub fn share(&self) -> f64 {
        self.used / self.limit
    }
}

/// A place on an axis.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CaseResult {
    /// The axis.
    pub axis: String,
    /// The case, as shown.
    pub name: String,
    /// Where it is on a numeric axis.
    pub number: Option<f64>,
}

/// One measured stretch of load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stretch {
    /// When its measuring began.
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
    /// How the load generator itself did.
    pub generator: Generator,
    /// Processes over time.
    pub processes: Vec<Process>,
    /// Metrics of nodes over time.
    pub metrics: Vec<MetricSeries>,
    /// Growth of all nodes' files over the stretch.
    pub disk_bytes: u64,
    /// Units a second that were tried, in a search for the knee, with whether each met the target.
    pub tried: Vec<(f64, bool)>,
    /// What it was on a chain; nothing elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chain: Option<Box<ChainResult>>,
}

impl Stretch {
    /// Completed units a second.
    pub fn per_s(&self) -> f64 {
        if self.seconds > 0.0 {
            self.done as f64 / self.seconds
        } else {
            0.0
        }
    }

    /// How many failed.
    pub fn failed(&self) -> u64 {
        let counts = self.faults.iter().map(|fault| fault.count);
        counts.fold(0u64, u64::saturating_add)
    }
}

/// Failures of one code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// The code.
    pub code: String,
    /// How many.
    pub count: u64,
    /// One of them in words.
    pub message: String,
}

/// What one kind of work gave among others.
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
    /// When it began.
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

/// The load generator: whether what it measured can be itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Generator {
    /// Its processor use, in cores.
    pub cpu_cores: f64,
    /// How late its timers woke it: the 99th percentile, milliseconds.
    pub lag_p99_ms: f64,
    /// At worst.
    pub lag_max_ms: f64,
    /// From when a unit was due until it was started, at worst, milliseconds (open loop).
    pub behind_max_ms: f64,
    /// A unit that starts so much after it was due is late, milliseconds.
    pub late_after_ms: f64,
    /// Processes that generated, agents included.
    pub agents: u32,
    /// Agents that died on the way; what they had done until then counts.
    pub agents_lost: u32,
}

/// A process over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Process {
    /// `notary`, `bank-1`, `generator`.
    pub name: String,
    /// Looks at it.
    pub samples: Vec<ProcessSample>,
}

/// One look at a process. Counters count from the process's start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProcessSample {
    /// When.
    pub at_ms: u64,
    /// Processor time so far, milliseconds.
    pub cpu_ms: u64,
    /// Resident memory.
    pub rss_bytes: u64,
    /// Bytes it has caused to be read from disks.
    pub read_bytes: u64,
    /// Bytes it has written: what it handed the system in writes (to connections too, where it wrote them like files), or the bytes of the
    /// pages that it touched, whichever is less.
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
    /// What its folder holds, looked at now and then; 0 if nobody looked.
    #[serde(default)]
    pub disk_bytes: u64,
}

/// A node's metric over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MetricSeries {
    /// Whose.
    pub node: String,
    /// Its Prometheus name, with labels.
    pub name: String,
    /// When, and what it said.
    pub values: Vec<(u64, f64)>,
}

/// A figure with its uncertainty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The estimate: the mean of the repeats, or the figure of the only one.
    pub value: f64,
    /// The lower end of its 95 % confidence interval; `None` where one repeat tells nothing.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
}

/// A point in figures. `metrics` holds, each as an estimate over the repeats: `rate_per_s`, `mean_ms`, `p50_ms`, `p90_ms`,
/// `p95_ms`, `p99_ms`, `max_ms`, `error_share`, `retries_per_unit`, `dropped_share` and `late_share` of an open loop, `states_per_s`
/// where the workload says how many a unit makes, `cpu_us_per_unit`, `commits_per_unit`, `written_bytes_per_unit` and
/// `disk_bytes_per_unit` (nodes together), `rss_mb_max` (the largest node), `sent_mbit_per_s` (the first bank), `generator_cpu_cores`,
/// `file_mb_per_s` where units move files, `knee_per_s` of a search; of stretches of a minute and more also `rate_drift_percent_per_h`, `p50_drift_percent_per_h`,
/// `rss_drift_mb_per_h` and `disk_mb_per_h` (nodes together). On a chain also `chain_tps` (payments a second in blocks, the least over
/// the nodes), `to_block_p50_s`, `to_block_p95_s`, `block_s`, `fork_depth_max` and `chain_bytes_per_tx`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// By name.
    pub metrics: BTreeMap<String, Estimate>,
}

/// What an audit said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditResult {
    /// Whether nothing is wrong.
    pub clean: bool,
    /// In words: what was compared, or what is wrong.
    pub words: String,
    /// Acknowledged transactions checked.
    pub transactions: u64,
}

/// A line of published figures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Published {
    /// What it is called.
    pub label: String,
    /// Where it was published, on what machines.
    pub source: String,
    /// Which metric it stands beside.
    pub metric: String,
    /// Values by case of the first axis, or by the cases of the first few axes with ` / ` between them; without axes under the
    /// empty name.
    pub values: BTreeMap<String, f64>,
}

impl Published {
    /// What stands beside a point: what names most of its cases says most of where it was measured.
    pub fn value_at(&self, at: &[CaseResult]) -> Option<f64> {
        let names: Vec<&str> = at.iter().map(|case| case.name.as_str()).collect();
        let keys = (names.len().min(1)..=names.len()).rev();
        let mut values =
            keys.filter_map(|count| self.values.get(&names[..count].join(CASES_JOINED)));
        values.next().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_values_stand_where_they_were_measured() {
        let values = [
            ("slow", 1.0),
            ("slow / 4 parties", 2.0),
            ("fast / 4 parties", 3.0),
        ];
        let line = Published {
            values: values.map(|(name, value)| (name.to_owned(), value)).into(),
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
        }
        let alone = Published {
            values: [(String::new(), 5.0)].into(),
            ..Published::default()
        };
        assert_eq!(alone.value_at(&[]), Some(5.0));
    }
}
