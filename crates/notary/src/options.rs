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

/// See the fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotaryOptions {
    /// The form of transaction that the notary requires.
    pub kind: NotaryKind,
    /// States (inputs and references) of one request.
    pub request_states_max: usize,
    /// States of all waiting requests; further requests are told to come again. One requester has at most half of it,
    /// and less while others wait: at most the part that is left.
    pub queue_states_max: usize,
    /// Requests that wait, shared out in the same way.
    pub queue_requests_max: usize,
    /// Newly consumed states of one requester per second, on average; above it, the requester is told to come again. 0
    /// is unlimited.
    pub requester_states_per_s: u64,
    /// Seconds of its rate that a requester may save up and then consume at once.
    pub requester_burst_s: u64,
    /// Requests of one batch.
    pub batch_requests_max: usize,
    /// States of one batch; a batch of one request may exceed it.
    pub batch_states_max: usize,
    /// States decided and not durable yet, of all batches; beyond, decisions wait.
    pub in_flight_states_max: usize,
    /// Wait that is sent to a requester while the recent commit rate is unknown, in milliseconds.
    pub eta_unknown_ms: u64,
}

impl Default for NotaryOptions {
    fn default() -> Self {
        Self {
            kind: NotaryKind::NonValidating,
            request_states_max: INPUTS_AND_REFERENCES_MAX,
            queue_states_max: 50_000,
            queue_requests_max: 20_000,
            requester_states_per_s: 10_000,
            requester_burst_s: 60,
            batch_requests_max: 2_000,
            batch_states_max: 20_000,
            in_flight_states_max: 100_000,
            eta_unknown_ms: 10_000,
        }
    }
}

impl NotaryOptions {
    /// States that a requester may consume at once after a pause.
    pub(crate) fn requester_burst(&self) -> u64 {
        // Clipped at the largest burst that can be counted, which is no bound.
        self.requester_states_per_s
            .saturating_mul(self.requester_burst_s)
    }
}
