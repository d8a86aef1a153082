//! Counters, gauges and histograms, and their text form for Prometheus. Recording is an atomic addition: it takes no lock and
//! allocates nothing.

mod counter;
mod histogram;
mod registry;

pub use counter::{Counter, Gauge};
pub use histogram::{Histogram, Unit};
pub use registry::{Listed, Registry};
