//! Budgets for answers to peers: one for each peer, and one for all peers together.
//!
//! # Invariants
//! - A peer gets an answer only if its recent use is at most the remaining common budget (a dynamic threshold). Heavy users converge
//!   to equal rates, and leave room for peers that ask little.
//! - A peer that has just connected counts as a heavy user for a few seconds, so a new connection gains nothing.

use std::time::Duration;

use primitives::whole_ms;

use crate::ChainTime;
use crate::core::limits::{
    SERVED_BYTES_BURST, SERVED_BYTES_LEAST, SERVED_BYTES_PER_SECOND, SERVED_TOTAL_BURST,
    SERVED_TOTAL_PER_SECOND,
};

/// A token bucket of work, counted in bytes, that answers may still cost.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    bytes: u64,
    /// The time of the last refill.
    at: ChainTime,
    per_second: u64,
    burst: u64,
}

impl Bucket {
    fn full(per_second: u64, burst: u64, now: ChainTime) -> Self {
        Self {
            bytes: burst,
            at: now,
            per_second,
            burst,
        }
    }

    fn refill(&mut self, now: ChainTime) {
        // A time before the last one adds nothing, and a long time fills the bucket.
        let elapsed = now.since(self.at).unwrap_or(Duration::ZERO);
        let more = whole_ms(elapsed).saturating_mul(self.per_second) / 1_000;
        // A bucket holds at most its burst.
        self.bytes = self.bytes.saturating_add(more).min(self.burst);
        self.at = now.max(self.at);
    }

    fn take(&mut self, cost: u64) {
        // An answer may cost more than the remaining budget. The bucket is then empty.
        self.bytes = self.bytes.saturating_sub(cost);
    }
}

/// Returns the cost of an answer: its bytes, or its work if that is more.
fn cost_of(bytes: usize, work: usize) -> u64 {
    (bytes.max(work) as u64).max(SERVED_BYTES_LEAST)
}

/// The budget of one peer.
#[derive(Clone, Copy, Debug)]
pub(in crate::core) struct PeerServing {
    bucket: Bucket,
    /// Bytes used recently. The number is halved every second.
    recent: u64,
    /// The time of the last change of `recent`.
    recent_at: ChainTime,
}

impl PeerServing {
    /// Returns the budget of a peer that has just connected.
    pub(in crate::core) fn new(now: ChainTime) -> Self {
        Self {
            bucket: Bucket::full(SERVED_BYTES_PER_SECOND, SERVED_BYTES_BURST, now),
            recent: SERVED_BYTES_BURST,
            recent_at: now,
        }
    }

    fn refill(&mut self, now: ChainTime) {
        self.bucket.refill(now);
        // A time before the last one forgets nothing.
        let elapsed = now.since(self.recent_at).unwrap_or(Duration::ZERO);
        let halvings = u32::try_from(elapsed.as_secs()).unwrap_or(u32::MAX);
        // After 64 halvings and more nothing is left.
        self.recent = self.recent.checked_shr(halvings).unwrap_or(0);
        // Within a second the use falls evenly to the half.
        self.recent -= self.recent * u64::from(elapsed.subsec_millis()) / 2_000;
        self.recent_at = now.max(self.recent_at);
    }

    /// Charges an answer.
    pub(in crate::core) fn count(&mut self, bytes: usize, work: usize) {
        let cost = cost_of(bytes, work);
        self.bucket.take(cost);
        // Clipped, it is still above every rest of the common budget.
        self.recent = self.recent.saturating_add(cost);
    }
}

/// The budget of all peers together.
#[derive(Clone, Copy, Debug)]
pub(in crate::core) struct ServingBudget(Bucket);

impl ServingBudget {
    /// Returns the full budget.
    pub(in crate::core) fn new(now: ChainTime) -> Self {
        Self(Bucket::full(
            SERVED_TOTAL_PER_SECOND,
            SERVED_TOTAL_BURST,
            now,
        ))
    }

    /// Returns whether a peer gets an answer now.
    pub(in crate::core) fn may_serve(&mut self, peer: &mut PeerServing, now: ChainTime) -> bool {
        self.0.refill(now);
        peer.refill(now);
        let least = peer.recent.max(SERVED_BYTES_LEAST);
        peer.bucket.bytes >= SERVED_BYTES_LEAST && self.0.bytes >= least
    }

    /// Charges an answer.
    pub(in crate::core) fn count(&mut self, bytes: usize, work: usize) {
        self.0.take(cost_of(bytes, work));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWER: usize = 1 << 20;

    /// Lets peers ask for answers of one mebibyte as often as they may for some seconds, in steps of 10 ms, and one more peer twice
    /// a second. Returns the answers in the last ten seconds: of each of these peers, and of the one that asks little.
    fn serve(heavy: usize, seconds: u64, reconnect: bool) -> (Vec<u64>, u64) {
        let mut all = ServingBudget::new(ChainTime::GENESIS);
        let mut peers = vec![PeerServing::new(ChainTime::GENESIS); heavy];
        let mut light = PeerServing::new(ChainTime::GENESIS);
        let (mut served, mut light_served) = (vec![0; heavy], 0);
        for now_ms in (0..seconds * 1_000).step_by(10) {
            let now = ChainTime::from_ms(now_ms);
            let counts = now_ms >= (seconds - 10) * 1_000;
            for (at, peer) in peers.iter_mut().enumerate() {
                if reconnect && now_ms.is_multiple_of(500) {
                    *peer = PeerServing::new(now);
                }
                while all.may_serve(peer, now) {
                    all.count(ANSWER, 0);
                    peer.count(ANSWER, 0);
                    served[at] += u64::from(counts);
                }
            }
            if now_ms.is_multiple_of(500) && all.may_serve(&mut light, now) {
                all.count(ANSWER, 0);
                light.count(ANSWER, 0);
                light_served += u64::from(counts);
            }
        }
        (served, light_served)
    }

    #[test]
    fn a_peer_that_asks_little_is_served_beside_any_number_of_heavy_ones() {
        for heavy in [1, 3, 8, 30] {
            for reconnect in [false, true] {
                let (served, light) = serve(heavy, 40, reconnect);
                let case = format!("{heavy} peers, reconnect {reconnect}: {served:?}");
                // It asks 20 times, which is about its fair share among 30 heavy peers.
                assert!(light >= 18, "{light} of {case}");
                let all: u64 = served.iter().sum();
                assert!(all << 20 <= SERVED_TOTAL_PER_SECOND * 11, "{case}");
            }
        }
    }

    #[test]
    fn heavy_peers_come_to_rest_at_similar_rates() {
        for heavy in [3, 8, 30] {
            let (served, _) = serve(heavy, 40, false);
            let (least, most) = (served.iter().min(), served.iter().max());
            let (least, most) = (*least.expect("peers"), *most.expect("peers"));
            assert!(least * 2 >= most, "{served:?}");
        }
    }

    #[test]
    fn a_lone_peer_gets_its_own_rate() {
        let (served, _) = serve(1, 40, false);
        assert!(
            served[0] << 20 >= SERVED_BYTES_PER_SECOND * 10 - (1 << 20),
            "{served:?}"
        );
    }
}
