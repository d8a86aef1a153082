//! The engine's limits: every collection of a flow has one.

use crate::hospital::{RETRY_KINDS, RetryLimit};

/// Limits of the engine. The defaults suit a node; tests make them small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowLimits {
    /// Effects of one flow that may be outstanding at once (`flow.limit_exceeded`).
    pub effects_outstanding_max: usize,
    /// Sessions that one flow may have open (`flow.limit_exceeded`).
    pub sessions_max: usize,
    /// Bytes of one session message (`flow.message_too_large`).
    pub session_message_bytes_max: usize,
    /// Messages of one session that its flow has not received yet.
    pub session_unread_max: usize,
    /// Bytes of one session that its flow has not received yet.
    pub session_unread_bytes_max: usize,
    /// Responder flows that have not ended, of all peers (`flow.too_many_responders`). One peer has at most half of them, and no
    /// more than what is left for the others (`flow.share_exceeded`).
    pub responders_max: usize,
    /// Bytes that live flows have received from all peers, shared out in the same way.
    pub peers_bytes_max: usize,
    /// Bytes of the journals of responder flows, shared out in the same way.
    pub peers_journal_bytes_max: usize,
    /// How long a responder waits for the next message of the peer that opened its session, in milliseconds
    /// (`flow.session_idle`).
    pub responder_idle_ms: u64,
    /// Bytes of messages kept for one parked flow since the node started.
    pub parked_bytes_max: usize,
    /// Responders that are kept for an operator; beyond it one that fails ends with its failure, as peers must not fill
    /// this node.
    pub kept_responders_max: usize,
    /// How transient failures are tried again, by kind.
    pub retries: [RetryLimit; RETRY_KINDS.len()],
}

impl Default for FlowLimits {
    fn default() -> FlowLimits {
        FlowLimits {
            effects_outstanding_max: 1_024,
            sessions_max: 1_024,
            session_message_bytes_max: 8 << 20,
            session_unread_max: 1_024,
            session_unread_bytes_max: 32 << 20,
            responders_max: 20_000,
            peers_bytes_max: 128 << 20,
            peers_journal_bytes_max: 128 << 20,
            responder_idle_ms: 7 * 24 * 3_600_000,
            parked_bytes_max: 4 << 20,
            kept_responders_max: 1_000,
            retries: RETRY_KINDS.map(|(_, _, limit)| limit),
        }
    }
}

impl FlowLimits {
    /// The longest pause before a flow is tried again.
    #[must_use]
    pub fn retry_wait_max_ms(&self) -> u64 {
        let longest = self.retries.iter().map(|limit| {
            // Half of the first pause at most is added to spread flows that failed together.
            limit.wait_most_ms.saturating_add(limit.wait_first_ms / 2)
        });
        longest.max().unwrap_or(0)
    }
}

/// Effects that one scope (a flow, or one of its sub-flows) may have in its life (`flow.limit_exceeded`).
pub const EFFECTS_OF_A_SCOPE_MAX: u16 = u16::MAX;
/// Sub-flows that one flow may start in its life (`flow.limit_exceeded`).
pub const SUB_FLOWS_MAX: u16 = u16::MAX;
