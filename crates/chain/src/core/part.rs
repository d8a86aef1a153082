//! The events that concern several parts of the core.

use super::PeerId;
use crate::pool::Pool;
use crate::state::Point;
use crate::{BlockTimestamp, ChainTime};

/// A part of the core: a type with state of its own that events of the whole core concern.
pub(super) trait Part {
    /// Discards the data that was computed for the old tip.
    fn tip_moved(&mut self, _tip: &Point) {}

    /// Forgets a peer that has disconnected.
    fn peer_down(&mut self, _peer: &PeerId) {}

    /// Returns the time at which the part has work, if no event comes before.
    fn next_time(&self) -> Option<ChainTime> {
        None
    }
}

impl Part for Pool {
    fn next_time(&self) -> Option<ChainTime> {
        self.next_expiry().map(BlockTimestamp::chain_time)
    }
}
