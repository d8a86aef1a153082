//! Back-off from peers whose branch failed or cannot be judged now.

use crate::core::limits::{BACK_OFF, BACK_OFF_DOUBLINGS_MAX};
use crate::core::{Core, PeerId};
use crate::port::{Reads, Table};
use crate::{BlockTimestamp, ChainTime};

impl<R: Reads<Table>> Core<R> {
    /// Ignores a peer for a while, without a penalty.
    pub(in crate::core) fn back_off(&mut self, peer: PeerId) {
        self.back_off_until(peer, self.now.plus_or_last(BACK_OFF));
    }

    /// Counts a failure of a peer that was followed. Each consecutive failure doubles the peer's cool-down. A repeated claim does
    /// not reset the count, but a delivery does ([`Core::delivered`]).
    pub(in crate::core) fn branch_failed(&mut self, peer: PeerId) {
        let Some(known) = self.peers.get_mut(&peer) else {
            return;
        };
        let doublings = known.failures.min(BACK_OFF_DOUBLINGS_MAX);
        known.failures += 1;
        self.back_off_until(peer, self.now.plus_or_last(BACK_OFF * (1 << doublings)));
    }

    /// Notes that a peer has delivered a body that joins or may join the chain, and resets its failures.
    pub(in crate::core) fn delivered(&mut self, peer: PeerId) {
        if let Some(known) = self.peers.get_mut(&peer) {
            known.failures = 0;
            known.has_delivered = true;
        }
    }

    fn back_off_until(&mut self, peer: PeerId, until: ChainTime) {
        if let Some(peer) = self.peers.get_mut(&peer) {
            peer.back_off_until = until;
            peer.status = None;
            peer.status_due = until;
        }
    }

    /// Waits for a peer whose branch continues with a block of this time, which is ahead of our clock. The peer is asked again at
    /// that time, or after the cool-down if the block is beyond the drift.
    pub(in crate::core) fn retry_at(&mut self, peer: PeerId, time: BlockTimestamp) {
        if self.is_beyond_drift(time) {
            self.back_off(peer);
        } else if let Some(peer) = self.peers.get_mut(&peer) {
            peer.back_off_until = time.chain_time();
        }
    }
}
