//! The metrics of a chain node.

use runtime::{RoundMetrics, WorkerMetrics};

use crate::http::front::HttpCounters;
use crate::metrics::{Counter, Gauge, Histogram, Listed, Process, Registry, Unit};

/// A family of counters with one counter for each reason. A reason is an error code, so their number is small.
#[derive(Clone, Copy, Debug)]
pub(super) struct ByReason {
    name: &'static str,
    help: &'static str,
}

macro_rules! chain_metrics {
    ($($field:ident: $kind:ident $($unit:ident)? = $name:literal, $help:literal;)*) => {
        /// The metrics of a chain node.
        pub(super) struct ChainMetrics {
            registry: Registry,
            process: Process,
            pub(super) http: HttpCounters,
            pub(super) refused: ByReason,
            pub(super) left: ByReason,
            pub(super) penalties: ByReason,
            $(#[doc = $help] pub(super) $field: $kind,)*
        }

        impl ChainMetrics {
            /// All at zero.
            pub(super) fn new() -> Self {
                let registry = Registry::default();
                let r = &registry;
                Self {
                    $($field: chain_metrics!(@ r, $kind $($unit)?, $name, $help),)*
                    refused: ByReason {
                        name: "tally_chain_submits_refused_total",
                        help: "Transactions of clients refused, by code.",
                    },
                    left: ByReason {
                        name: "tally_chain_left_total",
                        help: "Transactions that left the pool without a block, by code.",
                    },
                    penalties: ByReason {
                        name: "tally_chain_penalties_total",
                        help: "Faults of peers that were counted against them, by code.",
                    },
                    http: HttpCounters::register(r),
                    process: Process::new(r),
                    registry,
                }
            }
        }
    };
    (@ $r:ident, Counter, $name:literal, $help:literal) => { $r.counter($name, $help, &[]) };
    (@ $r:ident, Gauge, $name:literal, $help:literal) => { $r.gauge($name, $help, &[]) };
    (@ $r:ident, Histogram $unit:ident, $name:literal, $help:literal) => {
        $r.histogram($name, $help, &[], Unit::$unit)
    };
}

chain_metrics! {
    height: Gauge = "tally_chain_height", "Blocks after genesis.";
    tip_age: Gauge = "tally_chain_tip_age_seconds", "From the time of the last block until now.";
    clock_doubt: Gauge = "tally_chain_clock_doubt_seconds", "From the machine's clock to the time that the chain goes by, while a jump of the clock is not followed.";
    base_target: Gauge = "tally_chain_base_target", "How easily hits come.";
    pool_count: Gauge = "tally_chain_pool_transactions", "Transactions in no block yet.";
    pool_parked: Gauge = "tally_chain_pool_parked_transactions", "Those of them whose sender has too little just now.";
    pool_bytes: Gauge = "tally_chain_pool_bytes", "Bytes of transactions in no block yet.";
    peers: Gauge = "tally_chain_peers", "Peers connected.";
    stuck: Gauge = "tally_chain_stuck", "1 while a better branch lies beyond the rollback limit.";
    deep_branches: Counter = "tally_chain_deep_branches_total", "How often a peer claimed a better branch that forks off deeper than blocks can be rolled back: it cannot be judged, see chain_peer.too_deep.";
    catching_up: Gauge = "tally_chain_catching_up_blocks", "Blocks that a peer has told of and that are missing here.";
    blocks_added: Counter = "tally_chain_blocks_added_total", "Blocks that joined the main chain, those rolled back later included.";
    blocks_popped: Counter = "tally_chain_blocks_popped_total", "Blocks rolled back.";
    transactions: Counter = "tally_chain_transactions_total", "Transactions of all chains in blocks that joined, child blocks included.";
    forged: Counter = "tally_chain_forged_total", "Blocks forged here.";
    bundled: Counter = "tally_chain_bundled_total", "Child blocks made here.";
    accepted: Counter = "tally_chain_accepted_total", "Transactions taken into the pool, from clients and peers.";
    bad_blocks: Counter = "tally_chain_bad_blocks_total", "Blocks of peers that broke a rule.";
    equivocations: Counter = "tally_chain_equivocations_total", "Second blocks of a forger on one parent that were noticed, see tally chain equivocations.";
    turns_refused: Counter = "tally_chain_turns_refused_total", "Forging turns that a local account skipped, because it had signed another block on the same parent that this node no longer has.";
    failed_forgings: Counter = "tally_chain_failed_forgings_total", "Blocks that this node forged with transactions of its pool and that broke a rule. It forged without transactions instead. More than none is a fault of this software.";
    forks: Counter = "tally_chain_forks_total", "Branches that have won.";
    fork_depth: Histogram Count = "tally_chain_fork_depth_blocks", "Blocks rolled back for a branch that won.";
    block_transactions: Histogram Count = "tally_chain_block_transactions", "Transactions of a block, of all chains.";
    block_bytes: Histogram Bytes = "tally_chain_block_bytes", "Bytes of a block's body.";
    block_age: Histogram Seconds = "tally_chain_block_age_seconds", "From a block's own time until it joined here.";
    round_events: Histogram Count = "tally_chain_round_events", "Events decided in one round of the core.";
    round_time: Histogram Seconds = "tally_chain_round_seconds", "Time to decide one round, signature checks and blocks included, its commit not.";
    checks_by_core: Counter = "tally_chain_check_portions_core_total", "Portions of batches of signatures that the core's own thread checked.";
    checks_by_workers: Counter = "tally_chain_check_portions_workers_total", "Portions of batches of signatures that the workers checked.";
    checks_time: Histogram Seconds = "tally_chain_check_core_seconds", "Processor time that the core's own thread spent on batches of signatures with an estimated time of more than 40 microseconds.";
    commit_rows: Histogram Count = "tally_chain_commit_rows", "Rows of one commit.";
    commit_bytes: Histogram Bytes = "tally_chain_commit_bytes", "Size of one commit.";
    commit_time: Histogram Seconds = "tally_chain_commit_seconds", "From handing a commit over until it is durable.";
    commit_failures: Counter = "tally_chain_commit_failures_total", "Reads and writes of the store that failed; after the first the node takes no more work.";
    store_bytes: Gauge = "tally_chain_store_bytes", "The store on disk.";
    gossip_in: Counter = "tally_chain_gossip_received_bytes_total", "Read from peers, encryption included.";
    gossip_out: Counter = "tally_chain_gossip_sent_bytes_total", "Written to peers, encryption included.";
    gossip_seen: Counter = "tally_chain_gossip_messages_total", "Gossiped messages that came, those that had come before included.";
    gossip_dropped: Counter = "tally_chain_gossip_dropped_total", "Gossiped messages that were not sent on for want of room.";
    bans: Counter = "tally_chain_bans_total", "Peers banned.";
}

/// Returns the descriptions of all metrics, for the documentation.
#[must_use]
pub fn chain_metrics() -> Vec<Listed> {
    let metrics = ChainMetrics::new();
    let mut listed = metrics.registry.list();
    // They begin to be shown with their first reason.
    for family in [metrics.refused, metrics.left, metrics.penalties] {
        listed.push(Listed {
            name: family.name,
            kind: "counter",
            unit: "count",
            help: family.help,
            labels: vec!["reason=\"CODE\"".to_owned()],
        });
    }
    listed
}

impl ChainMetrics {
    /// Returns the metrics that the core's runtime records.
    pub(super) fn rounds(&self) -> RoundMetrics {
        RoundMetrics {
            round_events: self.round_events.clone(),
            round_time: self.round_time.clone(),
            commit_rows: self.commit_rows.clone(),
            commit_bytes: self.commit_bytes.clone(),
            commit_time: self.commit_time.clone(),
            commit_failures: self.commit_failures.clone(),
        }
    }

    pub(super) fn workers(&self) -> WorkerMetrics {
        WorkerMetrics {
            by_caller: self.checks_by_core.clone(),
            by_workers: self.checks_by_workers.clone(),
            caller_time: self.checks_time.clone(),
        }
    }

    /// Counts one with this code.
    pub(super) fn count_reason(&self, family: &ByReason, code: &str) {
        self.registry
            .counter(family.name, family.help, &[("reason", code)])
            .increment();
    }

    /// Everything as Prometheus text.
    pub(super) fn render(&self) -> String {
        self.process.refresh();
        self.registry.render()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_well_formed_and_none_is_listed_twice() {
        let listed = chain_metrics();
        for metric in &listed {
            let (name, kind, unit) = (metric.name, metric.kind, metric.unit);
            let lower = |c: char| c.is_ascii_lowercase() || c == '_';
            assert!(name.chars().all(lower), "{name}");
            assert_eq!(name.ends_with("_total"), kind == "counter", "{name} {kind}");
            let stem = name.trim_end_matches("_total");
            assert!(unit == "count" || stem.ends_with(unit), "{name} in {unit}");
            assert!(metric.help.ends_with('.') && !metric.help.contains(['|', '\n', '\\']));
        }
        let mut names: Vec<&str> = listed.iter().map(|metric| metric.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), listed.len());
    }
}
