//! The metrics of a cache.

use kernel::CacheFigures;
use runtime::metrics::{Counter, Gauge, Registry};
use store::BlockCacheFigures;

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
                "Estimated memory of the entries of the node's caches.",
                &[("cache", name)],
            ),
            budget: registry.gauge(
                "tally_cache_budget_bytes",
                "Memory that the entries of the node's caches may take: most are settings of section cache.",
                &[("cache", name)],
            ),
        }
    }

    /// Something was looked up.
    pub fn asked(&self, hit: bool) {
        match hit {
            true => self.hits.increment(),
            false => self.misses.increment(),
        }
    }

    /// Sets the bytes held and the budget.
    pub fn set_bytes(&self, bytes: u64, budget: u64) {
        self.bytes.set_count(bytes);
        self.budget.set_count(budget);
    }

    /// The store's cache of blocks now.
    pub fn set_blocks(&self, figures: BlockCacheFigures) {
        self.hits.set(figures.hits);
        self.misses.set(figures.misses);
        self.set_bytes(figures.bytes, figures.budget_bytes);
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
        self.cache.set_bytes(figures.bytes, figures.budget_bytes);
        self.evicted.set(figures.evicted);
    }
}
