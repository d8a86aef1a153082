//! The child blocks of one chain.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::ChildBlock;
use super::entry::Turn;
use crate::MinorUnits;

/// The child blocks of one chain in the order that forgers prefer: by greater fee, then greater count, then earlier arrival.
#[derive(Debug, Default)]
pub(super) struct Offers {
    pub(super) best: BTreeMap<(Reverse<MinorUnits>, Reverse<usize>, i64), u32>,
}

impl Offers {
    pub(super) fn add(&mut self, block: &ChildBlock, turn: Turn, slot: u32) {
        self.best.insert(merit(block, turn), slot);
    }

    pub(super) fn remove(&mut self, block: &ChildBlock, turn: Turn) {
        self.best.remove(&merit(block, turn));
    }
}

fn merit(block: &ChildBlock, turn: Turn) -> (Reverse<MinorUnits>, Reverse<usize>, i64) {
    (
        Reverse(block.fee()),
        Reverse(block.ids().len()),
        turn.place(),
    )
}
