//! Counters of a node, rendered as Prometheus text. Recording is an atomic addition; nothing here locks or allocates after
//! a metric is made, except rendering.
//!
//! [`NodeMetrics`] is the list of a node's metrics. [`Registry`] renders it.

mod cache;
mod counter;
mod histogram;
mod node_metrics;
mod peers;
mod process;
mod registry;

pub use cache::CacheMetrics;
pub use counter::{Counter, Gauge};
pub use histogram::{Histogram, Unit};
pub use node_metrics::NodeMetrics;
pub use peers::{PEERS_LABELLED_MAX, PeerMetrics};
pub(crate) use process::Process;
pub use registry::{Listed, Registry};
