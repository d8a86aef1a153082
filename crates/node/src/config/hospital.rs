//! `[hospital]`: how often and when failures of the moment are tried again, and how many flows are kept for an operator.

use flow::{RETRY_KINDS, RetryKind, RetryLimit};
use serde::{Deserialize, Serialize};

/// `[hospital]`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HospitalSection {
    /// Retries in a row after "busy".
    pub busy_retries: u32,
    /// Back-off before the first retry, which doubles with each further one.
    pub busy_wait_first_ms: u64,
    /// Maximum back-off between retries.
    pub busy_wait_most_ms: u64,
    /// Retries in a row after a failure that a flow marked as one of the moment.
    pub marked_retries: u32,
    /// Back-off before the first retry, which doubles with each further one.
    pub marked_wait_first_ms: u64,
    /// Maximum back-off between retries.
    pub marked_wait_most_ms: u64,
    /// Flows started here that are kept for an operator.
    pub kept_flows: usize,
    /// Flows that peers started and that are kept for an operator.
    pub kept_responders: usize,
    /// Whether flows found in the store wait for an operator when the node starts.
    pub hold_flows: bool,
    /// Longest wait for peers at a start before flows found in the store go on, in seconds.
    pub meet_peers_s: u64,
    /// Whether they stay held after that if no peer has shown a mark of this node's data.
    pub hold_unmet: bool,
}

impl Default for HospitalSection {
    fn default() -> Self {
        let options = kernel::KernelOptions::default();
        let [busy, marked] = options.flow.retries;
        Self {
            busy_retries: busy.retries_max,
            busy_wait_first_ms: busy.wait_first_ms,
            busy_wait_most_ms: busy.wait_most_ms,
            marked_retries: marked.retries_max,
            marked_wait_first_ms: marked.wait_first_ms,
            marked_wait_most_ms: marked.wait_most_ms,
            kept_flows: options.kept_flows_max,
            kept_responders: options.flow.kept_responders_max,
            hold_flows: options.hold_flows,
            meet_peers_s: options.meet_peers_ms / 1_000,
            hold_unmet: options.hold_unmet,
        }
    }
}

impl HospitalSection {
    /// The limits in the order of [`RETRY_KINDS`].
    pub fn retries(&self) -> [RetryLimit; RETRY_KINDS.len()] {
        RETRY_KINDS.map(|(kind, _, _)| match kind {
            RetryKind::Busy => RetryLimit {
                retries_max: self.busy_retries,
                wait_first_ms: self.busy_wait_first_ms,
                wait_most_ms: self.busy_wait_most_ms,
            },
            RetryKind::Marked => RetryLimit {
                retries_max: self.marked_retries,
                wait_first_ms: self.marked_wait_first_ms,
                wait_most_ms: self.marked_wait_most_ms,
            },
        })
    }

    /// The first wait that is longer than the longest, with both: its field, itself and the other's field.
    pub(super) fn fault(&self) -> Option<(&'static str, String)> {
        let pairs = [
            (
                "hospital.busy_wait_first_ms",
                self.busy_wait_first_ms,
                "hospital.busy_wait_most_ms",
                self.busy_wait_most_ms,
            ),
            (
                "hospital.marked_wait_first_ms",
                self.marked_wait_first_ms,
                "hospital.marked_wait_most_ms",
                self.marked_wait_most_ms,
            ),
        ];
        let wrong = pairs.into_iter().find(|(_, first, _, most)| first > most);
        wrong.map(|(field, first, other, most)| {
            (
                field,
                format!("{first} is too large; it is at most {other}, {most}"),
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_the_engine_s_own() {
        let limits = RETRY_KINDS.map(|(_, _, limit)| limit);
        assert_eq!(HospitalSection::default().retries(), limits);
    }
}
