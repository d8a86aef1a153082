//! Budgets for answers to peers: one for each peer, and one for all peers together.

use crate::core::limits::{
    SERVED_BYTES_BURST, SERVED_BYTES_LEAST, SERVED_BYTES_PER_SECOND, SERVED_TOTAL_BURST,
    SERVED_TOTAL_PER_SECOND,
};

/// A token bucket of work, counted in bytes, that answers may still cost.
#[derive(Clone, Copy, Debug)]
pub(in crate::core) struct ServingBudget {
    bytes: u64,
    at_ms: u64,
    per_second: u64,
    burst: u64,
}

impl ServingBudget {
    /// Returns the full budget of one peer.
    pub(in crate::core) fn of_peer(now_ms: u64) -> Self {
        Self {
            bytes: SERVED_BYTES_BURST,
            at_ms: now_ms,
            per_second: SERVED_BYTES_PER_SECOND,
            burst: SERVED_BYTES_BURST,
        }
    }

    /// Returns the full budget of all peers together.
    pub(in crate::core) fn of_all(now_ms: u64) -> Self {
        Self {
            bytes: SERVED_TOTAL_BURST,
            at_ms: now_ms,
            per_second: SERVED_TOTAL_PER_SECOND,
            burst: SERVED_TOTAL_BURST,
        }
    }

    fn refill(&mut self, now_ms: u64) {
        // A time before the last one adds nothing, and a long time fills the bucket.
        let elapsed = now_ms.saturating_sub(self.at_ms);
        let more = elapsed.saturating_mul(self.per_second) / 1_000;
        // A bucket holds at most its burst.
        self.bytes = self.bytes.saturating_add(more).min(self.burst);
        self.at_ms = now_ms.max(self.at_ms);
    }

    /// Returns whether a peer with the budget `peer` gets an answer now. The lower half of the common budget is reserved for
    /// peers that have used at most half of their own, so that heavy users cannot exhaust it.
    pub(in crate::core) fn may_serve(&mut self, peer: &mut Self, now_ms: u64) -> bool {
        self.refill(now_ms);
        peer.refill(now_ms);
        let light = peer.bytes >= peer.burst / 2;
        let floor = if light {
            SERVED_BYTES_LEAST
        } else {
            self.burst / 2
        };
        peer.bytes >= SERVED_BYTES_LEAST && self.bytes >= floor
    }

    /// Charges an answer: its bytes, or its work if that is more.
    pub(in crate::core) fn count(&mut self, bytes: usize, work: usize) {
        let cost = (bytes.max(work) as u64).max(SERVED_BYTES_LEAST);
        // An answer may cost more than the remaining budget. The bucket is then empty.
        self.bytes = self.bytes.saturating_sub(cost);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Serves a peer as long as its budget allows, with answers of one mebibyte each. Returns their number.
    fn drain(all: &mut ServingBudget, peer: &mut ServingBudget, now_ms: u64) -> u64 {
        let mut served = 0;
        while all.may_serve(peer, now_ms) {
            all.count(1 << 20, 0);
            peer.count(1 << 20, 0);
            served += 1;
        }
        served
    }

    #[test]
    fn many_heavy_peers_leave_half_to_light_ones() {
        let mut all = ServingBudget::of_all(0);
        let mut heavy = [ServingBudget::of_peer(0); 64];
        // Each peer may use half of its burst as a light peer. Together they drain the common budget.
        let served: u64 = heavy.iter_mut().map(|peer| drain(&mut all, peer, 0)).sum();
        assert_eq!(served << 20, SERVED_TOTAL_BURST);
        // In each later second they get at most the common rate.
        let second: u64 = heavy
            .iter_mut()
            .map(|peer| drain(&mut all, peer, 1_000))
            .sum();
        assert!(second << 20 <= SERVED_TOTAL_PER_SECOND, "{second}");
        // Heavy peers alone leave the lower half.
        let (mut all, mut one) = (ServingBudget::of_all(0), ServingBudget::of_peer(0));
        let mut heavy = [ServingBudget::of_peer(0); 64];
        for peer in &mut heavy {
            peer.count(SERVED_BYTES_BURST as usize / 2 + 1, 0);
            drain(&mut all, peer, 0);
        }
        assert!(
            all.bytes >= SERVED_TOTAL_BURST / 2 - (1 << 20),
            "{}",
            all.bytes
        );
        assert!(all.may_serve(&mut one, 0));
    }

    #[test]
    fn lone_peer_gets_its_own_rate() {
        let (mut all, mut peer) = (ServingBudget::of_all(0), ServingBudget::of_peer(0));
        assert_eq!(drain(&mut all, &mut peer, 0) << 20, SERVED_BYTES_BURST);
        let second = drain(&mut all, &mut peer, 1_000);
        assert_eq!(second << 20, SERVED_BYTES_PER_SECOND);
    }
}
