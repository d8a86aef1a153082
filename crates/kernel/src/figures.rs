//! The counters and gauges of a kernel, for the metrics.

use std::sync::Arc;

use crate::clock::ClockFigures;
use crate::flows::start_gate::HeldFlows;
use crate::peers::waiting::WaitReasons;
use crate::sizes::Sizes;

/// The caches that are counted, in the order of [`Figures::caches`].
pub const CACHES: [&str; 9] = [
    "transactions",
    "known_signatures",
    "verified",
    "unshared",
    "sent_along",
    "outcomes",
    "keys",
    "fresh_keys",
    "key_owners",
];

/// The figures of a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheFigures {
    /// Gauge: bytes held.
    pub bytes: u64,
    /// Maximum number of bytes held.
    pub budget_bytes: u64,
    /// Look-ups that found an entry.
    pub hits: u64,
    /// Look-ups that did not.
    pub misses: u64,
    /// Entries evicted to make room.
    pub evicted: u64,
}

/// Counters since the start, and gauges, which are marked as such.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Flows started by clients.
    pub flows_started: u64,
    /// Flows ended well, responders too.
    pub flows_done: u64,
    /// Flows ended with an error, responders too.
    pub flows_failed: u64,
    /// Responders ended well.
    pub responders_done: u64,
    /// Responders ended with an error.
    pub responders_failed: u64,
    /// Milliseconds from the start of a client's flow to its end, without the wait for a place before.
    pub flow_ms: Sizes,
    /// Milliseconds from the start to the end of responders.
    pub responder_ms: Sizes,
    /// Gauge: flows that are parked.
    pub flows_parked: u64,
    /// Gauge: flows that wait for their next try.
    pub flows_retrying: u64,
    /// Gauge: flows that are paused.
    pub flows_paused: u64,
    /// Gauge: flows found in the store at the start that have not come back yet.
    pub flows_shelved: u64,
    /// The flows that wait for peers, if there are any.
    pub held: Option<Arc<HeldFlows>>,
    /// Transient failures of flows that led to a retry.
    pub flow_retries: u64,
    /// Starts refused because there was no room.
    pub starts_busy: u64,
    /// Flows started because a state had scheduled them.
    pub scheduled_started: u64,
    /// Flows that states had scheduled and that could not be started.
    pub scheduled_refused: u64,
    /// Gauge: flows that have not ended.
    pub flows_live: u64,
    /// Gauge: estimated weight of the running flows of clients, in bytes.
    pub flows_bytes: u64,
    /// Gauge: starts that wait for a place.
    pub flows_queued: u64,
    /// Ended flows that the history keeps.
    pub flows_in_history: u64,
    /// Batches handed to the store.
    pub commits: u64,
    /// Rows in these batches.
    pub commit_rows: u64,
    /// Journal rows.
    pub journal_rows: u64,
    /// Signatures checked.
    pub signatures_checked: u64,
    /// Batches of checked signatures.
    pub signature_batches: u64,
    /// Signatures of each batch.
    pub signature_batch_checks: Sizes,
    /// Signatures that were bad.
    pub signatures_bad: u64,
    /// Signatures checked beside the rounds, because they exceeded the rate of the peer that caused them.
    pub signatures_put_off: u64,
    /// Gauge: transactions recorded in all.
    pub transactions: u64,
    /// Transactions recorded since the start.
    pub transactions_recorded: u64,
    /// Transactions refused.
    pub transactions_refused: u64,
    /// Gauge: transactions in progress in the intake.
    pub intake_items: u64,
    /// Gauge: files that transactions in progress wait for.
    pub files_awaited: u64,
    /// Transactions refused because the ledger records another consumer of an input, both signed by the notary.
    pub equivocations: u64,
    /// Gauge: proofs of that which are kept.
    pub equivocations_kept: u64,
    /// Links whose numbers were mended because a peer's contradicted them.
    pub links_renumbered: u64,
    /// Gauge: peers whose numbers contradict this node's, until a recovery is finished. They do not vouch for the data.
    pub links_contradicted: u64,
    /// Gauge: 1 while the data is known to be an older copy.
    pub rolled_back: u64,
    /// Files that came from peers.
    pub files_arrived: u64,
    /// Failed requests to peers for a file.
    pub files_failed: u64,
    /// Back chains fetched.
    pub resolutions: u64,
    /// Transactions recorded as part of a back chain.
    pub resolved_transactions: u64,
    /// The caches, each at the place of its name in [`CACHES`].
    pub caches: [CacheFigures; CACHES.len()],
    /// Messages from peers.
    pub messages_in: u64,
    /// Invalid messages from peers.
    pub messages_bad: u64,
    /// Gauge: deliveries not answered yet.
    pub deliveries_pending: u64,
    /// Deliveries that a participant refused.
    pub deliveries_refused: u64,
    /// Gauge: session messages not acknowledged yet.
    pub outbox_pending: u64,
    /// Gauge: requests not answered yet.
    pub requests_outstanding: u64,
    /// Batches of decided notarisation requests.
    pub notary_batches: u64,
    /// Requests of each batch.
    pub notary_batch_requests: Sizes,
    /// Requests answered with a signature.
    pub notary_signed: u64,
    /// Requests refused for a conflict.
    pub notary_conflicts: u64,
    /// Requests refused for another reason.
    pub notary_refused: u64,
    /// Requests that were told to wait, with an estimate of the time.
    pub notary_busy: u64,
    /// Gauge: requests that wait for a decision.
    pub notary_queued: u64,
    /// States consumed.
    pub notary_states: u64,
    /// Gauge: how far the notary's clock is behind its latest judgement of a time window, in milliseconds.
    pub notary_clock_behind_ms: u64,
    /// Gauge: states in quarantine, because a notary says that they are consumed elsewhere.
    pub quarantined: u64,
    /// Gauge: deliveries whose receivers have reported that they cannot record them for now.
    pub deliveries_waiting: u64,
    /// The reasons that these receivers reported, up to the number kept.
    pub wait_reasons: Arc<WaitReasons>,
    /// The state of the node's wall clock.
    pub clock: ClockFigures,
}

impl Figures {
    /// Counts the results of a batch of signature checks.
    pub(crate) fn note_batch(&mut self, good: &[bool]) {
        if good.is_empty() {
            return;
        }
        let count = good.len() as u64;
        self.signatures_checked += count;
        self.signature_batches += 1;
        self.signature_batch_checks.record(count);
        self.signatures_bad += good.iter().filter(|good| !**good).count() as u64;
    }
}
