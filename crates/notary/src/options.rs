//! Settings and limits of a notary.

use ledger::limits::INPUTS_AND_REFERENCES_MAX;

/// The form of transaction that a notary requires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NotaryKind {
    /// A tear-off: consumed and read states, the time window, the notary, the parameters.
    #[default]
    NonValidating,
    /// The whole transaction, verified with its back chain.
    Validating,
}

/// The settings and limits of a notary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotaryOptions {
    /// The form of transaction that the notary requires.
    pub kind: NotaryKind,
    /// Whether several notaries share one record of consumed states. It then enters the requests of a batch itself, as it answers the
    /// question about them, and the caller writes no rows.
    pub is_shared: bool,
    /// Maximum number of states (inputs and references) in one request.
    pub request_states_max: usize,
    /// Maximum number of states in all waiting requests. Further requests are answered with `notary.busy`. The waiting requests
    /// of one requester hold at most as many states as are left for the others: half of the maximum if no other requester
    /// waits, less otherwise.
    pub queue_states_max: usize,
    /// Maximum number of waiting requests, shared among the requesters in the same way.
    pub queue_requests_max: usize,
    /// Maximum average number of newly consumed states of one requester per second. Above it, its requests are answered with
    /// `notary.busy`. 0 means unlimited.
    pub requester_states_per_s: u64,
    /// Size of the burst, in seconds of the rate: the number of states that a requester may consume at once after a pause.
    pub requester_burst_s: u64,
    /// Maximum number of requests in one batch.
    pub batch_requests_max: usize,
    /// Maximum number of states in one batch. A batch of a single request may exceed it. Batches are smaller while the store takes long to
    /// answer, so that the notary is never silent for long.
    pub batch_states_max: usize,
    /// Number of states in decided batches that are not durable yet at which no further batch is decided.
    pub in_flight_states_max: usize,
    /// Wait that is sent to a requester while the recent commit rate is unknown, in milliseconds.
    pub eta_unknown_ms: u64,
}

impl Default for NotaryOptions {
    fn default() -> Self {
        Self {
            kind: NotaryKind::NonValidating,
            is_shared: false,
            request_states_max: INPUTS_AND_REFERENCES_MAX,
            queue_states_max: 50_000,
            queue_requests_max: 20_000,
            requester_states_per_s: 10_000,
            requester_burst_s: 60,
            batch_requests_max: 2_000,
            batch_states_max: 20_000,
            in_flight_states_max: 100_000,
            eta_unknown_ms: 1_000,
        }
    }
}

impl NotaryOptions {
    /// Returns the number of states that a requester may consume at once after a pause.
    pub(crate) fn requester_burst(&self) -> u64 {
        // Clipped at `u64::MAX`, which is as good as unlimited.
        self.requester_states_per_s
            .saturating_mul(self.requester_burst_s)
    }
}
