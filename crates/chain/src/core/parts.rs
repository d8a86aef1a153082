//! The list of the core's fields that get the common events.

use super::PeerId;
use super::core::Core;
use super::part::Part;
use crate::ChainTime;
use crate::port::{Reads, Table};

/// Lists the fields of the core that are parts.
macro_rules! parts {
    ($($field:ident),* $(,)?) => {
        impl<R: Reads<Table>> Core<R> {
            fn parts(&self) -> impl Iterator<Item = &dyn Part> {
                [$(&self.$field as &dyn Part),*].into_iter()
            }

            fn parts_mut(&mut self) -> impl Iterator<Item = &mut dyn Part> {
                [$(&mut self.$field as &mut dyn Part),*].into_iter()
            }
        }
    };
}

parts![
    pool,
    intake,
    gossip_batch,
    reconciliation,
    peers,
    requests,
    assemblies,
    pending,
    tied_tips,
    deep_fork,
    forging,
    bundling,
    rates,
];

impl<R: Reads<Table>> Core<R> {
    /// Tells all parts that the tip has moved.
    pub(super) fn parts_tip_moved(&mut self) {
        let tip = self.rows.tip().clone();
        self.parts_mut().for_each(|part| part.tip_moved(&tip));
    }

    /// Tells all parts that a peer has disconnected.
    pub(super) fn parts_peer_down(&mut self, peer: &PeerId) {
        self.parts_mut().for_each(|part| part.peer_down(peer));
    }

    /// Returns the first time at which a part has work that depends on no other part.
    pub(super) fn parts_next_time(&self) -> Option<ChainTime> {
        self.parts().filter_map(Part::next_time).min()
    }
}
