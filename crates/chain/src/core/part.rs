//! The events that concern several parts of the core.

use super::PeerId;
use crate::pool::Pool;
use crate::state::Point;

/// A part of the core: a type with state of its own that events of the whole core concern.
pub(super) trait Part {
    /// Discards the data that was computed for the old tip.
    fn tip_moved(&mut self, _tip: &Point) {}

    /// Forgets a peer that has disconnected.
    fn peer_down(&mut self, _peer: &PeerId) {}

    /// Returns the time at which the part has work, if no event comes before, in milliseconds since genesis.
    fn next_time_ms(&self) -> Option<u64> {
        None
    }
}

impl Part for Pool {
    fn next_time_ms(&self) -> Option<u64> {
        self.next_expiry().map(|time| time.chain_time().as_ms())
    }
}
