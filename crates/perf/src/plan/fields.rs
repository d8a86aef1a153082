//! All keys of a scenario, each with its meaning, unit, default and allowed values. The checks, the defaults and the
//! reference page come from this table.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use ::chain::genesis::DECIMALS_MAX;
use toml::Value;

use super::limits::{
    AXES_MAX, BANKS_MAX, CASES_MAX, CHAIN_ACCOUNTS_MAX, CHAIN_NODES_MAX, CHAINS_MAX, COMMAND_MAX,
    LABEL_CHARS_MAX, LINE_CHARS_MAX, LINK_DELAY_MS_MAX, LINK_MBIT_MAX, LINK_MBIT_MIN, METRICS_MAX,
    NAME_CHARS_MAX, NOTARY_WORKERS_MAX, OUTSTANDING_MAX, PUBLISHED_MAX, PUBLISHED_VALUES_MAX,
    RATE_MAX, SECONDS_MAX, SETTINGS_MAX, STEPS_MAX, TEXT_CHARS_MAX, WORKS_MAX,
};

/// A key.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Dotted, with `NAME` for names chosen by the user: `run.seconds`, `network.nodes.NAME.cores`.
    pub name: &'static str,
    /// The allowed values.
    pub kind: Kind,
    /// The default, as TOML or in words; `required` if there is none. One that is TOML is filled in.
    pub default: &'static str,
    /// Its unit, if any.
    pub unit: &'static str,
    /// The description of the key.
    pub meaning: &'static str,
}

/// The type and range of a key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A text with this minimum and maximum number of characters.
    Text(u64, u64),
    /// `true` or `false`.
    Flag,
    /// A whole number within a range, both ends in it.
    Whole(u64, u64),
    /// A number within a range, both ends in it.
    Number(f64, f64),
    /// One of some words.
    OneOf(&'static [&'static str]),
    /// A table whose keys are fields of their own.
    Table,
    /// A list of at most this many such tables. A single table counts as a list of one.
    List(usize),
    /// A list of at most this many texts that are not empty.
    Texts(usize),
    /// Values of any type by dotted name. Tables within it are another way to write dots.
    Settings,
    /// Numbers by case.
    Figures,
    /// A number, text or flag, or a list of them, which the word describes.
    Cases(&'static str),
    /// Test accounts: a number, or a list.
    Accounts,
}

/// Metrics of a point's summary that figures can be published and charted by.
pub const METRICS: &[&str] = &[
    "block_s",
    "ceiling_per_s",
    "chain_bytes_per_tx",
    "chain_tps",
    "commits_per_unit",
    "cpu_us_per_unit",
    "disk_bytes_per_unit",
    "disk_mb_per_h",
    "dropped_share",
    "error_share",
    "file_mb_per_s",
    "fork_depth_max",
    "generator_cpu_cores",
    "knee_per_s",
    "late_share",
    "max_ms",
    "mean_ms",
    "p50_drift_percent_per_h",
    "p50_ms",
    "p90_ms",
    "p95_ms",
    "p99_ms",
    "rate_drift_percent_per_h",
    "rate_per_s",
    "retries_per_unit",
    "rss_drift_mb_per_h",
    "rss_mb_max",
    "sent_mbit_per_s",
    "serial_us_per_unit",
    "start_ms",
    "states_per_s",
    "to_block_p50_s",
    "to_block_p95_s",
    "written_bytes_per_unit",
];

/// The largest whole number of TOML.
const WHOLE_MAX: u64 = i64::MAX as u64;
/// Milliseconds in the longest time.
const MS_MAX: f64 = SECONDS_MAX * 1_000.0;
/// A thousandth of a unit a second is one in 17 minutes.
const RATE_MIN: f64 = 0.001;

const LABEL: Kind = Kind::Text(1, LABEL_CHARS_MAX);
const LINE: Kind = Kind::Text(1, LINE_CHARS_MAX);
const TEXT: Kind = Kind::Text(1, TEXT_CHARS_MAX);
const RATE: Kind = Kind::Number(RATE_MIN, RATE_MAX);
const DELAY: Kind = Kind::Number(0.0, LINK_DELAY_MS_MAX);
const BANDWIDTH: Kind = Kind::Number(LINK_MBIT_MIN, LINK_MBIT_MAX);
/// The range of a published figure.
pub(super) const FIGURE: (f64, f64) = (0.0, 1e15);
const OUTSTANDING: Kind = Kind::Whole(1, OUTSTANDING_MAX);

macro_rules! fields {
    ($($name:literal $kind:expr, $default:literal [$unit:literal] $meaning:literal;)*) => {
        &[$(Field { name: $name, kind: $kind, default: $default, unit: $unit, meaning: $meaning }),*]
    };
}

/// Every key, in the order of the page.
#[rustfmt::skip]
pub const FIELDS: &[Field] = fields! {
    "name" Kind::Text(1, NAME_CHARS_MAX as u64), "the file's name" [""] "The name of the scenario in results: small letters, digits and dashes.";
    "title" LINE, "the name" [""] "One line for people.";
    "about" Kind::Text(0, TEXT_CHARS_MAX), "\"\"" [""] "The purpose of the scenario, in a few sentences.";
    "seed" Kind::Whole(0, WHOLE_MAX), "1" [""] "Seed of all random choices: the same seed asks for the same work at the same times.";
    "main_metric" Kind::OneOf(METRICS), "\"rate_per_s\", for a search `\"knee_per_s\"`" [""] "The figure that represents the scenario in a line of JSON.";
    "network" Kind::Table, "a notary and two banks" [""] "The network to bring up, or a running one.";
    "network.banks" Kind::Whole(0, BANKS_MAX as u64), "2" [""] "Number of nodes besides the notary: `bank-1`, `bank-2` and so on. 0 only for work that needs no network, such as `fake`.";
    "network.notary" Kind::OneOf(&["single", "validating", "replicated"]), "\"single\"" [""] "The kind of notary: `single` sees tear-offs only, `validating` verifies whole transactions. `replicated` is several workers under one identity, which see tear-offs and share a database; the laboratory starts and stops it.";
    "network.notary_backend" Kind::OneOf(&["galera", "postgres"]), "\"galera\"" [""] "The database of a replicated notary: `galera` is a MariaDB Galera cluster of three servers, `postgres` one PostgreSQL server.";
    "network.notary_workers" Kind::Whole(1, NOTARY_WORKERS_MAX as u64), "2" [""] "Number of workers of a replicated notary: `notary`, `notary-2` and so on.";
    "network.requesters" Kind::Whole(0, BANKS_MAX as u64), "0" [""] "Members of the network without a node: `requester-1` and so on. With work of the kind `notarise`, the laboratory asks the notary in their names. A notary gives each requester a share of its queue, so one alone does not load it fully.";
    "network.database" Kind::OneOf(&["embedded", "postgres"]), "\"embedded\"" [""] "Where the nodes keep their data: `embedded` in their own folders, `postgres` on one PostgreSQL server, which the laboratory starts and stops, with a schema for each node.";
    "network.database_latency_ms" DELAY, "none" ["milliseconds"] "A simulated distance to the PostgreSQL server: the time of a round trip. A proxy of the laboratory delays the messages. With 0 the proxy delays nothing, for a fair comparison.";
    "network.settings" Kind::Settings, "none" [""] "Settings of every node's configuration by dotted name, such as `network.settings.store.linger_us = 500`; [all of them](config.md).";
    "network.link" Kind::Table, "none" [""] "A simulated distance between nodes. Proxies of the laboratory on loopback delay the messages that nodes send to each other. With an empty table the proxies delay nothing, for a fair comparison. Clients are not delayed.";
    "network.link.delay_ms" DELAY, "0" ["milliseconds"] "Delay from one node to the other. A round trip takes twice as long.";
    "network.link.mbit_per_s" BANDWIDTH, "unlimited" ["Mbit/s"] "Bandwidth in each direction between two nodes. At most 16 MiB are in flight.";
    "network.nodes" Kind::Table, "none" [""] "Settings of single nodes: `network.nodes.notary`, `network.nodes.bank-1`, ...";
    "network.nodes.NAME.settings" Kind::Settings, "none" [""] "Settings of this node, which replace those of all nodes.";
    "network.nodes.NAME.cores" Kind::Whole(1, 4_096), "all" [""] "Number of processor cores that the node may use, from the first core on.";
    "network.nodes.NAME.link" Kind::Table, "that of all" [""] "The link of this node to all others, for example of a receiver far away. Between two nodes with links of their own, the slower one counts.";
    "network.nodes.NAME.link.delay_ms" DELAY, "0" ["milliseconds"] "As for all nodes.";
    "network.nodes.NAME.link.mbit_per_s" BANDWIDTH, "unlimited" ["Mbit/s"] "As for all nodes.";
    "network.target" Kind::Table, "none" [""] "A running network, or another system behind a connector. The laboratory then starts, wipes and restarts no node.";
    "network.target.connector" Kind::OneOf(&["postgres"]), "none" [""] "Another system instead, by a shipped connector: plain PostgreSQL with a table of transfers. The work is of the kind `command`.";
    "network.target.command" Kind::Texts(COMMAND_MAX), "none" [""] "Another system instead, by [your own connector](connectors.md): a program and its arguments, such as `[\"python3\", \"connector.py\"]`.";
    "network.target.banks" Kind::Texts(BANKS_MAX as usize), "required without a connector" [""] "Folders of its banks, as `tally network bootstrap` makes them, or copies with `node.toml`, `root.pem` and `api-token`; relative to where `tally` is started.";
    "network.target.notary" LINE, "none" [""] "The notary's folder. Without it, the audit does not check the notary's books.";
    "chain" Kind::Table, "none" [""] "A chain under load instead of `network` and `work`: payments on all its chains, from all test accounts, to all nodes. `load` sets their number at a time or their rate. [Load on a chain](../guides/chain-load-test.md).";
    "chain.nodes" Kind::Whole(1, CHAIN_NODES_MAX as u64), "4" [""] "Number of nodes to start: `node-1`, `node-2` and so on.";
    "chain.block_s" Kind::Whole(1, 3_600), "5" ["seconds"] "The intended time between blocks. For a target, the time that it uses.";
    "chain.profile" Kind::OneOf(&["loadtest", "production"]), "\"loadtest\"" [""] "The limits and constants of consensus.";
    "chain.children" Kind::Whole(0, CHAINS_MAX as u64 - 1), "4" [""] "Child chains in addition to the parent chain, with tokens as in the published test.";
    "chain.chains" Kind::List(CHAINS_MAX), "the parent and its children" [""] "The chains one by one instead, as `[[chain.chains]]`, the parent first.";
    "chain.chains.id" Kind::Whole(1, 255), "required" [""] "The chain's number; the parent's is 1.";
    "chain.chains.name" LABEL, "`child-1`, ..." [""] "The name of the chain in results.";
    "chain.chains.decimals" Kind::Whole(0, DECIMALS_MAX as u64), "8" [""] "Number of decimal places of its token.";
    "chain.chains.fee" Kind::Whole(0, WHOLE_MAX), "a token of the parent, 0.01 of a child" ["minor units"] "The fee of a payment on it.";
    "chain.chains_csv" LINE, "none" [""] "The same from a file: id, name, decimals, fee. The same ranges hold.";
    "chain.accounts" Kind::Accounts, "10" [""] "Test accounts, which all pay: a number (the passphrases are then 0, 1 and so on), or a list of passphrases or tables.";
    "chain.accounts.passphrase" Kind::Text(0, LINE_CHARS_MAX), "required" [""] "The passphrase of the account, which gives its key.";
    "chain.accounts.node" Kind::Whole(1, CHAIN_NODES_MAX as u64), "dealt out in turn" [""] "The node on which it forges and bundles.";
    "chain.accounts_csv" LINE, "none" [""] "The same from a file: passphrase, node.";
    "chain.batch" Kind::Whole(1, 1_000), "1" ["payments"] "Maximum number of payments in one request to a node. Payments that wait while earlier requests are in flight go together.";
    "chain.waiting_max" Kind::Whole(1, 1_000_000_000), "none" ["payments"] "Maximum number of payments that wait for a block at any node. Further payments are sent later, so that the load follows the capacity of the blocks.";
    "chain.history" Kind::Whole(0, 1_000_000_000), "0" ["payments"] "Payments that stand in full blocks of the chain before the load: written into the nodes' stores by `tally chain history`.";
    "chain.drain_s" Kind::Number(0.0, SECONDS_MAX), "120" ["seconds"] "Maximum wait after the load until all accepted payments are in blocks.";
    "chain.deadline_minutes" Kind::Whole(1, 1_440), "60" ["minutes"] "Time for which a payment is valid.";
    "chain.settings" Kind::Settings, "none" [""] "Settings of every node's configuration by dotted name.";
    "chain.bundlers" Kind::OneOf(&["first", "all"]), "\"first\"" [""] "The accounts that bundle on each node: the first of its test accounts, or all of them.";
    "chain.target" Kind::Table, "none" [""] "Running nodes. The laboratory then starts and wipes nothing.";
    "chain.target.kind" Kind::OneOf(&["nxt", "tally"]), "required" [""] "Servers of the Ardor/Nxt family by their HTTP API, or nodes of ours.";
    "chain.target.servers" Kind::Texts(CHAIN_NODES_MAX), "required" [""] "`http://host:port` of each server; of nodes of ours their folders.";
    "chain.target.servers_csv" LINE, "none" [""] "The same from a file: name, url.";
    "chain.target.signing" Kind::OneOf(&["passphrase", "prepared"]), "\"passphrase\"" [""] "How servers of that family are asked to sign: with the passphrase in one call, or prepared, signed and broadcast in calls of their own.";
    "work" Kind::List(WORKS_MAX), "required" [""] "The work: one table, or several as `[[work]]`, which are mixed by weight. Further keys are parameters of the kind: [workloads](workloads.md).";
    "work.kind" LABEL, "required" [""] "The workload.";
    "work.label" LABEL, "the kind" [""] "The name in results; it must be unique.";
    "work.weight" Kind::Whole(1, 1_000_000), "1" [""] "Its share among the others.";
    "load" Kind::Table, "one outstanding" [""] "The load: exactly one of `outstanding`, `rate`, `ramp`, `steps` and `knee`.";
    "load.outstanding" OUTSTANDING, "1" [""] "Closed loop: this number of units is outstanding at any moment.";
    "load.think_ms" Kind::Number(0.0, MS_MAX), "0" ["milliseconds"] "The pause between the end of a unit and the start of the next (closed loop).";
    "load.think" Kind::OneOf(&["fixed", "random", "uniform"]), "\"fixed\"" [""] "Whether the pause is always the same, exponentially distributed with the mean `think_ms`, or uniformly distributed from 0 to twice `think_ms`.";
    "load.rate" RATE, "none" ["units a second"] "Open loop: units are due at this rate, whether or not the system keeps up; latency counts from when one was due.";
    "load.ramp" Kind::Table, "none" [""] "Open loop: the rate changes linearly over the measured time.";
    "load.ramp.from" Kind::Number(0.0, RATE_MAX), "required" ["units a second"] "The rate at the beginning.";
    "load.ramp.to" Kind::Number(0.0, RATE_MAX), "required" ["units a second"] "The rate at the end. At least one of the two must be above 0.";
    "load.steps" Kind::List(STEPS_MAX), "none" [""] "Open loop: a sequence of rates, as a list of `{ per_s = ..., seconds = ... }`.";
    "load.steps.per_s" Kind::Number(0.0, RATE_MAX), "required" ["units a second"] "The step's rate.";
    "load.steps.seconds" Kind::Number(0.1, SECONDS_MAX), "required" ["seconds"] "Duration of the step.";
    "load.poisson" Kind::Flag, "false" [""] "Whether units are due at random around the rate (a Poisson process), not evenly (open loop).";
    "load.outstanding_max" OUTSTANDING, "10000" [""] "Maximum number of outstanding units. A further unit that is due is dropped and counted (open loop and search).";
    "load.knee" Kind::Table, "none" [""] "A search for the highest rate of an open loop that still meets a latency target; each rate is tried for `run.seconds`.";
    "load.knee.from_per_s" RATE, "required" ["units a second"] "The lowest rate tried.";
    "load.knee.to_per_s" RATE, "required" ["units a second"] "The highest rate tried, above the lowest.";
    "load.knee.percentile" Kind::Number(1.0, 99.99), "99" ["percent"] "The percentile of latency that has to meet the target.";
    "load.knee.latency_ms" Kind::Number(0.01, MS_MAX), "required" ["milliseconds"] "The target.";
    "load.knee.within" Kind::Number(0.001, 0.5), "0.05" ["share"] "The search ends when the remaining rates are this close: 0.05 is 5 %.";
    "run" Kind::Table, "5 stretches of 5 s" [""] "Duration and repetitions.";
    "run.warm_up_s" Kind::Number(0.0, SECONDS_MAX), "1" ["seconds"] "Duration of the same load before each repeat, which is not counted.";
    "run.seconds" Kind::Number(0.1, SECONDS_MAX), "5; with `count` 3600" ["seconds"] "Measured time of each stretch. With `count` the stretch ends at the first of both. With `load.steps` it is always the sum of the steps.";
    "run.count" Kind::Whole(1, 1_000_000_000_000), "none" ["units"] "Number of units of each stretch, if it ends by a count.";
    "run.repeats" Kind::Whole(1, 1_000), "5" [""] "Number of measured stretches of each point. Confidence intervals need at least two.";
    "run.interleave" Kind::Flag, "false" [""] "Whether stretches of different points take turns (ABAB), as comparisons should, or follow each other (AABB).";
    "run.restart" Kind::OneOf(&["needed", "points", "repeats"]), "\"needed\"" [""] "When nodes are restarted: only where a point's settings call for it, before each point, or before each stretch.";
    "run.fresh" Kind::Flag, "false" [""] "Whether every point begins with the prepared network, without the data of earlier points.";
    "run.each_unit" Kind::Flag, "false" [""] "Whether the report has the elapsed time of each unit, in the order of their ends, as a chart. Needs `run.count` of at most 1000, and no search.";
    "run.fault" Kind::Table, "none" [""] "A fault of one node in the middle of each stretch. The longest latency (`max_ms`) then shows how long units waited for it.";
    "run.fault.node" LABEL, "required" [""] "The node: `notary`, `notary-2` and so on for the further workers of a replicated notary, `bank-1` and so on.";
    "run.fault.kind" Kind::OneOf(&["kill", "freeze"]), "\"kill\"" [""] "`kill` ends its process without a warning (SIGKILL); it is started again after the stretch. `freeze` stops its process (SIGSTOP) and lets it go on later.";
    "run.fault.at_s" Kind::Number(0.0, SECONDS_MAX), "1" ["seconds"] "When it happens, in measured time.";
    "run.fault.for_s" Kind::Number(0.0, SECONDS_MAX), "2" ["seconds"] "How long a frozen process stays stopped.";
    "sweep" Kind::List(AXES_MAX), "none" [""] "The varied settings: each `[[sweep]]` is an axis, and every combination is a point. The last axis varies fastest.";
    "sweep.label" LABEL, "the last word of `set`" [""] "The name of the axis in charts.";
    "sweep.set" LINE, "none" [""] "The setting that is varied, by dotted name: any of this page, a node's setting or a knob. With several kinds of work, `work.LABEL.knob`.";
    "sweep.values" Kind::Cases("values"), "none" [""] "The values of the setting, one after the other: a list of numbers, texts or flags. The cases of flags are called `on` and `off`.";
    "sweep.only" Kind::Cases("names of cases"), "all" [""] "Names of the cases to run, if not all of them.";
    "sweep.case" Kind::List(CASES_MAX), "none" [""] "Instead of `set` and `values`: cases that set several things, as `[[sweep.case]]`.";
    "sweep.case.name" LABEL, "required" [""] "The name of the case, unique within its axis.";
    "sweep.case.number" Kind::Number(-1e15, 1e15), "the name, if it is a number" [""] "Position on a numeric axis. The axis is numeric if all its cases have a number.";
    "sweep.case.set" Kind::Settings, "none" [""] "The settings of the case, by dotted name: `set.work.sessions = \"sequential\"`.";
    "monitors" Kind::Table, "as below" [""] "The instruments during the run.";
    "monitors.every_ms" Kind::Whole(0, 3_600_000), "500" ["milliseconds"] "Interval between readings of processes and metrics, at least 50. 0 disables the monitoring.";
    "monitors.metrics" Kind::Texts(METRICS_MAX), "[]" [""] "Further metrics of the nodes to keep, by name; [all of them](metrics.md).";
    "monitors.machine" Kind::Flag, "true" [""] "Whether the machine's own limits are measured before the run.";
    "audit" Kind::Table, "as below" [""] "The checks after each run. They cannot be disabled.";
    "audit.read_max" Kind::Whole(1, 10_000_000), "20000" ["transactions"] "Transactions that are read in full at every node; of more, as many are sampled evenly.";
    "published" Kind::List(PUBLISHED_MAX), "none" [""] "Figures published elsewhere, shown next to the measured ones: each `[[published]]` is a line of a chart.";
    "published.label" LABEL, "required" [""] "The name of the line.";
    "published.source" TEXT, "required" [""] "The publication of the figures, and the machines.";
    "published.url" LINE, "none" [""] "The address of the publication, `https://...`. The report links to it.";
    "published.conditions" Kind::Table, "none" [""] "The conditions of the published measurement, as published. The report shows them next to its own.";
    "published.conditions.hardware" LINE, "none" [""] "The machines.";
    "published.conditions.nodes" LINE, "none" [""] "The nodes, and where they ran.";
    "published.conditions.store" LINE, "none" [""] "The database.";
    "published.conditions.work" LINE, "none" [""] "The measured unit of work.";
    "published.conditions.load" LINE, "none" [""] "The load, such as the number of clients.";
    "published.conditions.duration" LINE, "none" [""] "The length of the measurement.";
    "published.metric" Kind::OneOf(METRICS), "the main metric" [""] "The metric that they are compared with.";
    "published.value" Kind::Number(FIGURE.0, FIGURE.1), "none" [""] "The figure, without a sweep.";
    "published.values" Kind::Figures, "none" [""] "The figures by case of the first axis: `values = { 4 = 1100, 6 = 1650 }`; where more axes matter, by their cases too, in their order: `values = { \"4 / sequential\" = 1100 }`.";
    "published.deviations" Kind::Figures, "none" [""] "The published standard deviations of some of the values, by the same cases. If the first axis has named cases, the chart then has bars of one standard deviation, of the repeats too.";
    "full" Kind::Table, "none" [""] "Settings that `--full` lays over all these: `run.seconds = 1200` below `[full]`.";
};

/// The node with settings of its own: any name below `network.nodes`.
const NODES: &str = "network.nodes";
const NODE: &str = "network.nodes.NAME";

/// The fields of each section.
static SECTIONS: LazyLock<BTreeMap<&str, Vec<&Field>>> = LazyLock::new(|| {
    let mut sections: BTreeMap<&str, Vec<&Field>> = BTreeMap::new();
    for field in FIELDS {
        sections.entry(field.parts().0).or_default().push(field);
    }
    sections
});

/// Returns the fields of a section, such as `run`; the empty name is the top level.
pub(super) fn fields_of(section: &str) -> impl Iterator<Item = &'static Field> + use<> {
    SECTIONS.get(section).into_iter().flatten().copied()
}

/// Returns the keys of a section.
pub(super) fn keys_of(section: &str) -> impl Iterator<Item = &'static str> + use<> {
    fields_of(section).map(Field::key)
}

/// Returns the name in this table of a key of a section.
pub(super) fn below(section: &str, key: &str) -> Option<&'static str> {
    if section == NODES {
        return Some(NODE);
    }
    let field = fields_of(section).find(|field| field.key() == key)?;
    Some(field.name)
}

/// Returns the field of a name. A single node has none.
pub(super) fn field(name: &str) -> Option<&'static Field> {
    FIELDS.iter().find(|field| field.name == name)
}

/// Returns the type of a name.
pub(super) fn kind(name: &str) -> Kind {
    field(name).map_or(Kind::Table, |field| field.kind)
}

impl Field {
    /// Returns its section and its key.
    fn parts(&self) -> (&'static str, &'static str) {
        // A name without a dot belongs to the top level.
        self.name.rsplit_once('.').unwrap_or(("", self.name))
    }

    /// Returns its key, the last part of its name.
    pub(super) fn key(&self) -> &'static str {
        self.parts().1
    }

    /// Returns its default, if it is the same in every scenario.
    pub(super) fn default_value(&self) -> Option<Value> {
        let text = self.default;
        match self.kind {
            Kind::Flag => text.parse().ok().map(Value::Boolean),
            Kind::Whole(..) => text.parse().ok().map(Value::Integer),
            Kind::Number(..) => text.parse().ok().map(Value::Float),
            Kind::Text(..) | Kind::OneOf(_) => {
                let word = text.strip_prefix('"')?.strip_suffix('"')?;
                Some(Value::String(word.to_owned()))
            }
            _ => None,
        }
    }
}

impl Kind {
    /// Returns the allowed values in words: `from 1 to 64`.
    pub(super) fn words(&self) -> String {
        match self {
            Kind::Text(_, chars) => format!("a text of at most {chars} characters"),
            Kind::Flag => "true or false".to_owned(),
            Kind::Whole(least, most) => format!("a whole number from {least} to {most}"),
            Kind::Number(least, most) => format!("a number from {least} to {most}"),
            Kind::OneOf(words) => format!("one of {}", quoted(words)),
            Kind::Table => "a table".to_owned(),
            Kind::Settings => format!("a table of at most {SETTINGS_MAX} settings"),
            Kind::List(most) => format!("a list of tables, at most {most}"),
            Kind::Texts(most) => format!("a list of at most {most} texts"),
            Kind::Figures => format!(
                "a table of 1 to {PUBLISHED_VALUES_MAX} figures by case, such as {{ 4 = 1100 }}"
            ),
            Kind::Cases(what) => format!("a list of 1 to {CASES_MAX} {what}"),
            Kind::Accounts => format!(
                "a number from 2 to {CHAIN_ACCOUNTS_MAX}, or a list of passphrases or of \
                 {{ passphrase = .., node = .. }}"
            ),
        }
    }
}

/// Returns words with quotes and commas.
pub(super) fn quoted(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    quoted.join(", ")
}
