//! What is counted of a cache.

use kernel::CacheFigures;

use super::counter::{Counter, Gauge};
use super::registry::Registry;

/// Metrics of one cache, kept by the kernel and copied here.
#[derive(Debug)]
pub struct CacheMetrics {
    pub(super) hits: Counter,
    misses: Counter,
    bytes: Gauge,
}

impl CacheMetrics {
    pub(super) fn new(registry: &Registry, name: &'static str) -> Self {
        const LOOKUPS: &str = "tally_cache_lookups_total";
        const HELP: &str = "Look-ups in the kernel's caches, by cache and result.";
        let lookups =
            |result| registry.counter(LOOKUPS, HELP, &[("cache", name), ("result", result)]);
        Self {
            hits: lookups("hit"),
            misses: lookups("miss"),
            bytes: registry.gauge(
                "tally_cache_bytes",
                "Memory that the entries of the kernel's caches are reckoned at.",
                &[("cache", name)],
            ),
        }
    }

    /// The cache's figures now.
    pub fn set(&self, figures: CacheFigures) {
        self.hits.set(figures.hits);
        self.misses.set(figures.misses);
        self.bytes.set_count(figures.bytes);
    }
}
