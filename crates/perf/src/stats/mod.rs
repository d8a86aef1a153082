//! Statistics: estimates with intervals, drifts, comparisons with tests. Pure: no clock, and random numbers only from a
//! seed.
//!
//! Everywhere the independent observation is a *stretch* of load, never a unit within one. Units of one stretch share
//! queues, commits and caches, so an interval that counts them as independent would be far too narrow.

mod compare;
mod comparison;
mod counter;
mod drift;
mod flips;
mod growth;
mod interval;
mod kept;
mod line;
mod serial;
mod sides;
mod steady;
mod student;
mod summary;
#[cfg(test)]
mod trials;
mod welch;

pub use compare::{
    CHANGED, COMPARED, Case, CompareError, Design, ERROR_RATE, ERRORS, PAIRS_MIN, SELFTEST_FAILED,
    SIDES_MAX, compare,
};
pub use comparison::{Compared, Comparison, LeftOut, Method, Scale, Side, Test, Verdict};
pub use counter::{Counter, folder_growth, growth, largest_memory};
pub use drift::drift_blocks;
pub use growth::{Times, exponent, times};
pub use interval::{geometric_mean, mean_interval};
pub use line::{Line, block_means, fit};
pub use serial::{ceiling, serial_node, serial_share, serial_times};
pub use sides::{compare_axis, compare_reports, doubts_of};
pub use steady::{STEADY_SECONDS_MIN, STEADY_WITHIN, Steady, steadiness};
pub use student::{t_below, t_quantile};
pub use summary::{
    constants_of_work, counted_figures, deviation, repeat_figures, repeats_of, summarise,
    with_files,
};
pub use welch::holm;
