//! Watches processes and nodes during a stretch of load: processor, memory, disk, network, durable commits and metrics of choice, all
//! on one time axis.
//!
//! It has a thread and connections of its own, so that it sees a busy generator or node as it is and delays neither. What does not
//! answer leaves a gap and never fails a run.

mod looks;
mod reading;
mod scrape;
mod watch;

pub use watch::{METRICS, Monitor, Options, Subject, Watched};
