//! Limits and budgets of a kernel; every one is a setting of the node.

use std::collections::BTreeSet;

use flow::FlowLimits;
use flow::messaging::{DeliveryOptions, OutboxOptions, RequestOptions};
use ledger::PartyId;
use primitives::Seed;
use vault::SelectionOptions;

use crate::consents::ConsentOptions;

/// See the fields. Bytes are bytes, times are milliseconds.
#[derive(Clone, Debug)]
pub struct KernelOptions {
    /// Fresh random bytes, drawn by the shell at each start: seeds of responders come from it.
    pub entropy: Seed,
    /// Flows started by clients that run at once.
    pub live_flows_max: usize,
    /// Maximum estimated weight of all running flows of clients. A single flow may have more.
    pub live_bytes_max: usize,
    /// Starts that wait for a place; beyond it clients are told "busy".
    pub start_queue_max: usize,
    /// How long a start may have to wait, by the rate at which flows end: no more than end within it may wait, and
    /// [`crate::WAITING_MIN`] always.
    pub start_wait_ms_max: u64,
    /// Flows started by clients that are kept for an operator; beyond it no more are started.
    pub kept_flows_max: usize,
    /// Bytes of journals of flows that come back when the node starts; further flows come back as these end.
    pub journals_bytes_max: usize,
    /// Whether the flows found in the store wait for an operator to let them come back.
    pub hold_flows: bool,
    /// Longest wait for peers after a start before flows of the journal go on; 0 waits for none.
    pub meet_peers_ms: u64,
    /// Whether these flows stay held after the wait if no peer has shown a mark of this node's data.
    pub hold_unmet: bool,
    /// Limits of the flow engine.
    pub flow: FlowLimits,
    /// Coin selection.
    pub selection: SelectionOptions,
    /// Which transitions of others it signs.
    pub consent: ConsentOptions,
    /// The notary this node is, if it is one.
    pub notary: Option<notary::NotaryOptions>,
    /// Cache of recorded transactions.
    pub transactions_bytes: usize,
    /// Cache of signatures known to be good, and of transactions known to be valid.
    pub known_signatures_bytes: usize,
    /// Maximum size of a back chain fetched for one transaction. The part that does not fit in memory is staged on the disk
    /// (`tx.back_chain_too_long`).
    pub back_chain_bytes_max: u64,
    /// Cache of outcomes of ended flows.
    pub outcomes_bytes: usize,
    /// Cache of transactions that only this node has.
    pub unshared_bytes: usize,
    /// Cache of the transactions that were sent to each peer along with a message.
    pub sent_along_bytes: usize,
    /// Cache of decoded public keys.
    pub keys_bytes: usize,
    /// Size of each of two caches: this node's fresh keys, and the owners of other keys.
    pub fresh_keys_bytes: usize,
    /// Cache of the records of files.
    pub file_rows_bytes: usize,
    /// Peers whose files are trusted when they come.
    pub trust_peers: BTreeSet<PartyId>,
    /// Session messages on their way.
    pub outbox: OutboxOptions,
    /// Deliveries on their way.
    pub deliveries: DeliveryOptions,
    /// Requests on their way.
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
            flow: FlowLimits::default(),
            selection: SelectionOptions::default(),
            consent: ConsentOptions::default(),
            notary: None,
            transactions_bytes: 12 << 20,
            known_signatures_bytes: 2 << 20,
            back_chain_bytes_max: 4 << 30,
            outcomes_bytes: 4 << 20,
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
