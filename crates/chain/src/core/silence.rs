//! Silent peers. Each silence is counted, and a peer that stays silent while others answer is disconnected.

use super::limits::{PATIENCE_MS, SILENCES_MAX, points};
use super::{Action, Core, PeerId};
use crate::port::{Reads, Table};

/// The silences of one peer in a row.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Silence {
    count: u32,
    /// The time of the first silence.
    since_ms: u64,
    /// Unanswered questions before this time belong to the same silence.
    counted_until_ms: u64,
}

impl Silence {
    /// Counts an unanswered question. Returns true if the peer has been silent for too long although another peer was heard at
    /// `heard_ms`.
    fn count(&mut self, now_ms: u64, heard_ms: u64) -> bool {
        if now_ms < self.counted_until_ms {
            return false;
        }
        if self.count == 0 {
            self.since_ms = now_ms;
        }
        self.count += 1;
        self.counted_until_ms = now_ms + PATIENCE_MS;
        self.count >= SILENCES_MAX && heard_ms > self.since_ms
    }
}

impl<R: Reads<Table>> Core<R> {
    /// Handles a question that a peer did not answer in time.
    pub(super) fn was_silent(&mut self, peer: PeerId) {
        self.penalise(peer, points::SILENCE, "chain_peer.silent");
        let (now_ms, heard_ms) = (self.now_ms, self.heard_ms);
        let Some(known) = self.peers.get_mut(&peer) else {
            return;
        };
        if known.silence.count(now_ms, heard_ms) {
            known.silence = Silence::default();
            let reason = "chain_peer.silent";
            self.actions.push(Action::Disconnect { peer, reason });
        }
    }

    /// Resets a peer's silence after an answer.
    pub(super) fn was_heard(&mut self, peer: PeerId) {
        self.heard_ms = self.now_ms;
        if let Some(known) = self.peers.get_mut(&peer) {
            known.silence = Silence::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silences_in_a_row_count_once_each_patience() {
        let mut silence = Silence::default();
        let heard = u64::MAX;
        for n in 1..SILENCES_MAX {
            let at = u64::from(n) * PATIENCE_MS;
            assert!(!silence.count(at, heard), "{n}");
            assert!(!silence.count(at + 1, heard), "of the same moment as {n}");
        }
        let last = u64::from(SILENCES_MAX) * PATIENCE_MS;
        let mut alone = silence;
        assert!(!alone.count(last, PATIENCE_MS), "no other peer was heard");
        assert!(silence.count(last, PATIENCE_MS + 1));
    }
}
