//! Limits and budgets of a kernel. Most of them follow from settings of the node.

use std::collections::BTreeSet;

use flow::FlowLimits;
use flow::messaging::{DeliveryOptions, OutboxOptions, RequestOptions};
use ledger::PartyId;
use primitives::Seed;
use vault::SelectionOptions;

use crate::consents::ConsentOptions;

/// The retention of ended flows. Nothing is kept if one of the limits is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryOptions {
    /// Maximum number of flows of each kind: failed ones and successful ones that were started here, and failed ones that counterparties
    /// started.
    pub flows_max: u64,
    /// Maximum time since the end of a flow, in milliseconds.
    pub age_ms_max: u64,
}

impl Default for HistoryOptions {
    fn default() -> Self {
        Self {
            flows_max: 1_000_000,
            // 30 days.
            age_ms_max: 30 * 24 * 60 * 60 * 1_000,
        }
    }
}

/// See the fields. Bytes are bytes, times are milliseconds.
#[derive(Clone, Debug)]
pub struct KernelOptions {
    /// Fresh random bytes, drawn by the shell at each start. The seeds of responders are derived from them.
    pub entropy: Seed,
    /// Maximum number of running flows that clients started.
    pub live_flows_max: usize,
    /// Maximum estimated weight of all running flows of clients, in bytes. A single flow may exceed it.
    pub live_bytes_max: usize,
    /// Maximum number of starts that wait for a place. Any further one is answered "busy".
    pub start_queue_max: usize,
    /// Maximum estimated wait of a start for a place, in milliseconds: only as many starts may wait as flows end in this time, but
    /// always [`crate::WAITING_MIN`].
    pub start_wait_ms_max: u64,
    /// Number of clients' flows kept for an operator at which no more are started.
    pub kept_flows_max: usize,
    /// Budget for the journals of flows that are restored after a start, in bytes. Further flows are restored as these end.
    pub journals_bytes_max: usize,
    /// Whether the flows found in the store are restored only when an operator says so.
    pub hold_flows: bool,
    /// Maximum wait for peers after a start before the flows of the journal continue, in milliseconds. 0 means no wait.
    pub meet_peers_ms: u64,
    /// Whether these flows stay held after the wait if no peer has shown a mark of this node's data.
    pub hold_unmet: bool,
    /// Number of gathered jobs at which they are handed out before the end of the round, at least 1. It bounds the memory of the flows
    /// that run side by side. A batch has at most as many transactions to verify. Large tear-offs are handed out earlier.
    pub gathered_jobs_max: usize,
    /// Size of the rows and messages of a round, in bytes, at which the round takes no further event. It bounds the memory of a round in
    /// which many flows write. The journals of the flows come on top.
    pub round_bytes_max: usize,
    /// Limits of the flow engine.
    pub flow: FlowLimits,
    /// Coin selection.
    pub selection: SelectionOptions,
    /// The transitions proposed by other parties that this node signs.
    pub consent: ConsentOptions,
    /// The options of the notary, if this node is one.
    pub notary: Option<notary::NotaryOptions>,
    /// Size of the cache of recorded transactions, in bytes.
    pub transactions_bytes: usize,
    /// Work of signature checks that rounds make for one peer in a millisecond, in units of about ten microseconds: one for an Ed25519
    /// signature, 16 for a P-256 signature. Further checks are made beside the rounds ([`crate::Action::CheckSignatures`]).
    pub peer_check_rate: u64,
    /// Size of the cache of signatures and transactions known to be valid, in bytes.
    pub known_signatures_bytes: usize,
    /// Maximum size of a back chain fetched for one transaction. The part that does not fit in memory is staged on the disk
    /// (`tx.back_chain_too_long`).
    pub back_chain_bytes_max: u64,
    /// Maximum size of the fetched back chains of all peers that wait for verification, nearly all of it on the disk. A peer may hold at
    /// most as much as is left after that for others (`tx.back_chain_too_long`).
    pub staged_chains_bytes_max: u64,
    /// Size of the cache of outcomes of ended flows, in bytes.
    pub outcomes_bytes: usize,
    /// Retention of ended flows.
    pub history: HistoryOptions,
    /// Size of the cache of transactions that only this node has, in bytes.
    pub unshared_bytes: usize,
    /// Size of the cache of the transactions that were sent to each peer along with a delivery, in bytes.
    pub sent_along_bytes: usize,
    /// Size of the cache of decoded public keys, in bytes.
    pub keys_bytes: usize,
    /// Size of each of two caches, in bytes: this node's fresh keys, and the owners of other keys.
    pub fresh_keys_bytes: usize,
    /// Size of the cache of the records of files, in bytes.
    pub file_rows_bytes: usize,
    /// Peers whose files are marked as trusted on arrival.
    pub trust_peers: BTreeSet<PartyId>,
    /// Limits of the outbox of session messages.
    pub outbox: OutboxOptions,
    /// Limits of the deliveries.
    pub deliveries: DeliveryOptions,
    /// Limits of the requests.
    pub requests: RequestOptions,
}

impl Default for KernelOptions {
    fn default() -> Self {
        Self {
            entropy: Seed::new([0; 32]),
            live_flows_max: 1_000,
            live_bytes_max: 48 << 20,
            start_queue_max: 1_000,
            start_wait_ms_max: 10_000,
            kept_flows_max: 10_000,
            journals_bytes_max: 64 << 20,
            hold_flows: false,
            meet_peers_ms: 30_000,
            hold_unmet: true,
            gathered_jobs_max: 128,
            round_bytes_max: 4 << 20,
            flow: FlowLimits::default(),
            selection: SelectionOptions::default(),
            consent: ConsentOptions::default(),
            notary: None,
            transactions_bytes: 12 << 20,
            // A tenth of a core.
            peer_check_rate: 10,
            known_signatures_bytes: 2 << 20,
            back_chain_bytes_max: 4 << 30,
            // After a peer that takes its half, another one can still have a chain of the maximum size.
            staged_chains_bytes_max: 16 << 30,
            outcomes_bytes: 4 << 20,
            history: HistoryOptions::default(),
            unshared_bytes: 4 << 20,
            sent_along_bytes: 1 << 20,
            keys_bytes: 3_584 << 10,
            fresh_keys_bytes: 1 << 20,
            file_rows_bytes: 1 << 20,
            trust_peers: BTreeSet::new(),
            outbox: OutboxOptions::default(),
            deliveries: DeliveryOptions::default(),
            requests: RequestOptions::default(),
        }
    }
}
