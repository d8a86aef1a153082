//! Figures of stretches from a saved run file, which has them in place of readings.

use crate::results::Stretch;

/// Every metric that a single stretch can have.
const NAMES: [&str; 35] = [
    "rate_per_s",
    "states_per_s",
    "file_mb_per_s",
    "knee_per_s",
    "mean_ms",
    "p50_ms",
    "p90_ms",
    "p95_ms",
    "p99_ms",
    "max_ms",
    "error_share",
    "retries_per_unit",
    "dropped_share",
    "late_share",
    "generator_cpu_cores",
    "cpu_us_per_unit",
    "commits_per_unit",
    "written_bytes_per_unit",
    "disk_bytes_per_unit",
    "serial_us_per_unit",
    "rss_mb_max",
    "database_rss_mb_max",
    "sent_mbit_per_s",
    "start_ms",
    "chain_tps",
    "fork_depth_max",
    "block_s",
    "to_block_p50_s",
    "to_block_p95_s",
    "chain_bytes_per_tx",
    "rate_drift_percent_per_h",
    "p50_drift_percent_per_h",
    "rss_drift_mb_per_h",
    "database_rss_drift_mb_per_h",
    "disk_mb_per_h",
];

/// Returns the figures that a saved stretch holds; nothing for a stretch of a run. Names that no stretch can have are left out.
pub(super) fn kept(stretch: &Stretch) -> Vec<(&'static str, f64)> {
    NAMES
        .into_iter()
        .filter_map(|name| stretch.figures.get(name).map(|value| (name, *value)))
        .collect()
}
