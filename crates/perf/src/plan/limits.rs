//! Upper limits of a scenario. A file that exceeds them is refused when it is loaded.

/// Length of a scenario file, bytes.
pub const FILE_BYTES_MAX: usize = 256 << 10;
/// Tables within tables.
pub const DEPTH_MAX: usize = 24;
/// Problems reported at once. Further ones appear once these are corrected.
pub const PROBLEMS_MAX: usize = 20;
/// `--set` on one command line.
pub const OVERRIDES_MAX: usize = 100;
/// Banks of one network: the capacity of one machine.
pub const BANKS_MAX: u32 = 64;
/// Maximum number of workers of a replicated notary.
pub const NOTARY_WORKERS_MAX: u32 = 8;
/// The longest delay of a link, milliseconds. Above it, nodes abandon handshakes.
pub const LINK_DELAY_MS_MAX: f64 = 1_000.0;
/// The narrowest link, megabits a second.
pub const LINK_MBIT_MIN: f64 = 0.1;
/// The widest link, megabits a second. Above it, the machine is the limit.
pub const LINK_MBIT_MAX: f64 = 100_000.0;
/// The program of a connector and its arguments.
pub const COMMAND_MAX: usize = 64;
/// Settings of nodes in one table.
pub const SETTINGS_MAX: usize = 200;
/// Kinds of work in one mix.
pub const WORKS_MAX: usize = 32;
/// Knobs of one kind of work.
pub const KNOBS_MAX: usize = 64;
/// Steps of a rate.
pub const STEPS_MAX: usize = 1_000;
/// Axes of a sweep.
pub const AXES_MAX: usize = 4;
/// Cases of one axis.
pub const CASES_MAX: usize = 200;
/// Points of a sweep: the product of its axes.
pub const POINTS_MAX: usize = 1_000;
/// Metrics that are monitored in addition to the standard ones.
pub const METRICS_MAX: usize = 64;
/// Lines of published figures.
pub const PUBLISHED_MAX: usize = 32;
/// Figures of one such line.
pub const PUBLISHED_VALUES_MAX: usize = 200;
/// Characters of a scenario's name.
pub const NAME_CHARS_MAX: usize = 64;
/// Characters of a label.
pub const LABEL_CHARS_MAX: u64 = 100;
/// Characters of a title or a path.
pub const LINE_CHARS_MAX: u64 = 400;
/// Characters of a description or a source.
pub const TEXT_CHARS_MAX: u64 = 8_000;
/// The longest time that may be set, seconds: 90 days.
pub const SECONDS_MAX: f64 = 90.0 * 86_400.0;
/// The highest rate that may be asked for, units a second.
pub const RATE_MAX: f64 = 1_000_000.0;
/// Units of a stretch whose elapsed times are kept one by one.
pub const EACH_UNIT_MAX: u64 = 1_000;
/// Units outstanding.
pub const OUTSTANDING_MAX: u64 = 1_000_000;
/// Nodes of a chain: the capacity of one machine, and the targets that a load spreads over.
pub const CHAIN_NODES_MAX: usize = 64;
/// Chains of one network.
pub const CHAINS_MAX: usize = 64;
/// Test accounts of a chain.
pub const CHAIN_ACCOUNTS_MAX: usize = 1_000;
