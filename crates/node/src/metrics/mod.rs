//! The metrics of a node: [`NodeMetrics`] lists them, and [`Registry`] renders them as Prometheus text.

mod cache;
mod node_metrics;
mod peers;
mod process;

pub use cache::CacheMetrics;
pub use node_metrics::NodeMetrics;
pub use peers::{PEERS_LABELLED_MAX, PeerMetrics};
pub(crate) use process::Process;
pub use runtime::metrics::{Counter, Gauge, Histogram, Listed, Registry, Unit};
