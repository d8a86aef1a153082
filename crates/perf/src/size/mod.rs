//! Estimates the needs of a rate on machines like this one from a few measured points: cores, memory, disk, commits and
//! network of every node and database server, and whether the rate can be reached at all.
//!
//! [`plan`] turns a scenario into one that measures the same work at rates from low to the highest possible, and
//! [`disk_plan`] into one that shows how files grow. [`answer`] fits straight lines to those results and evaluates them at
//! the target. All are pure; the runs happen between them.

mod answer;
mod ceiling;
mod disk;
mod error;
mod evidence;
mod fit;
mod flows;
mod latency;
mod need;
mod plans;
mod reach;
mod retention;
mod role;
mod usage;

#[cfg(test)]
mod synthetic;

pub use answer::{Question, Sizing, answer};
pub use ceiling::Ceiling;
pub use disk::{DiskNeed, Retained};
pub use error::{ERRORS, SizeError};
pub use evidence::Evidence;
pub use latency::{LatencyAnswer, LatencyVerdict};
pub use need::{Need, NodeNeed};
pub use plans::{disk_plan, plan, states};
pub use reach::Reach;
pub use retention::{Retention, RetentionError};
pub use role::Role;
