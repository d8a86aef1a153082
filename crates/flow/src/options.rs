//! The engine's limits. Every collection of a flow has one.

use crate::hospital::{RETRY_KINDS, RetryLimit};

/// Limits of the engine. The defaults suit a node; tests make them small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowLimits {
    /// Maximum number of effects of one flow in flight (`flow.limit_exceeded`).
    pub effects_outstanding_max: usize,
    /// Maximum number of open sessions of one flow (`flow.limit_exceeded`).
    pub sessions_max: usize,
    /// Maximum size of one session message, in bytes (`flow.message_too_large`).
    pub session_message_bytes_max: usize,
    /// Maximum number of messages of one session that its flow has not received yet.
    pub session_unread_max: usize,
    /// Maximum size of these messages, in bytes.
    pub session_unread_bytes_max: usize,
    /// Maximum number of responder flows that have not ended, for all peers together (`flow.too_many_responders`). One peer may
    /// have at most half of them, and no more than the remaining free places (`flow.share_exceeded`).
    pub responders_max: usize,
    /// Maximum number of bytes that live flows have received from all peers. Peers share it by the same rule.
    pub peers_bytes_max: usize,
    /// Maximum size of the journals of responder flows, in bytes. Peers share it by the same rule.
    pub peers_journal_bytes_max: usize,
    /// Maximum time that a responder waits for the next message of the peer that opened its session, in milliseconds
    /// (`flow.session_idle`).
    pub responder_idle_ms: u64,
    /// Maximum size of the messages kept for one parked flow since the node started, in bytes.
    pub parked_bytes_max: usize,
    /// Maximum number of responders kept for an operator. Beyond it a failed responder ends with its failure, so that peers cannot
    /// fill this node.
    pub kept_responders_max: usize,
    /// The retry policy for transient failures, by kind.
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
    /// Returns the longest delay before a flow is retried.
    #[must_use]
    pub fn retry_wait_max_ms(&self) -> u64 {
        let longest = self.retries.iter().map(|limit| {
            // At most half of the first delay is added to spread flows that failed together.
            // A wait that is clipped has no end.
            limit.wait_most_ms.saturating_add(limit.wait_first_ms / 2)
        });
        // Without kinds of failures there is no wait.
        longest.max().unwrap_or(0)
    }
}

/// Maximum number of effects of one scope (a flow or one of its sub-flows) in its life (`flow.limit_exceeded`).
pub const EFFECTS_OF_A_SCOPE_MAX: u16 = u16::MAX;
/// Maximum number of sub-flows of one flow in its life (`flow.limit_exceeded`).
pub const SUB_FLOWS_MAX: u16 = u16::MAX;
