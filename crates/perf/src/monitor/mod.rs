//! Monitors processes and nodes during a stretch of load, all on one time axis: processor, memory, disk, network, durable
//! commits and chosen metrics.
//!
//! It has its own thread and connections, so that it sees a busy generator or node correctly and delays neither. A
//! process or node that does not answer leaves a gap and never fails a run.

mod looks;
mod scrape;
mod watch;

pub use watch::{METRICS, Monitor, Options, Subject, Watched};
