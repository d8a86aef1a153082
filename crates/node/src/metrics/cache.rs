//! What is counted of a cache.

use kernel::CacheFigures;
use store::BlockCacheFigures;

use super::counter::{Counter, Gauge};
use super::registry::Registry;

/// Metrics of one cache, kept by its owner and copied here.
#[derive(Debug)]
pub struct CacheMetrics {
    pub(super) hits: Counter,
    misses: Counter,
    bytes: Gauge,
    budget: Gauge,
}

/// Metrics of one of the kernel's caches.
#[derive(Debug)]
pub struct KernelCacheMetrics {
    pub(super) cache: CacheMetrics,
    evicted: Counter,
}

impl CacheMetrics {
    pub(super) fn new(registry: &Registry, name: &'static str) -> Self {
        const LOOKUPS: &str = "tally_cache_lookups_total";
        const HELP: &str = "Look-ups in the node's caches, by cache and result.";
        let lookups =
            |result| registry.counter(LOOKUPS, HELP, &[("cache", name), ("result", result)]);
        Self {
            hits: lookups("hit"),
            misses: lookups("miss"),
            bytes: registry.gauge(
                "tally_cache_bytes",
                "Memory that the entries of the node's caches are reckoned at.",
                &[("cache", name)],
            ),
            budget: registry.gauge(
                "tally_cache_budget_bytes",
                "Memory that the entries of the node's caches may take: the settings of section cache.",
                &[("cache", name)],
            ),
        }
    }

    /// The store's cache of blocks now.
    pub fn set_blocks(&self, figures: BlockCacheFigures) {
        self.hits.set(figures.hits);
        self.misses.set(figures.misses);
        self.bytes.set_count(figures.bytes);
        self.budget.set_count(figures.budget_bytes);
    }
}

impl KernelCacheMetrics {
    pub(super) fn new(registry: &Registry, name: &'static str) -> Self {
        Self {
            cache: CacheMetrics::new(registry, name),
            evicted: registry.counter(
                "tally_cache_evicted_total",
                "Entries dropped from the kernel's caches for want of room.",
                &[("cache", name)],
            ),
        }
    }

    /// The cache's figures now.
    pub fn set(&self, figures: CacheFigures) {
        self.cache.hits.set(figures.hits);
        self.cache.misses.set(figures.misses);
        self.cache.bytes.set_count(figures.bytes);
        self.cache.budget.set_count(figures.budget_bytes);
        self.evicted.set(figures.evicted);
    }
}
