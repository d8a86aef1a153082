//! The fees for which bundlers have bundled lately, as blocks show them.

use std::collections::{BTreeMap, VecDeque};

use crate::block::CarriedBlock;
use crate::transaction::Body;
use crate::{AccountId, ChainId};

/// Blocks in which a bundler must have bundled at a rate for the rate to count as proven.
pub const PROVEN_BLOCKS: usize = 60;

/// The least child fee that each bundler has carried for another account.
type LeastFees = BTreeMap<(ChainId, AccountId), u64>;

/// The least fees that bundlers carried in each of the last [`PROVEN_BLOCKS`] blocks. What a bundler carries for itself proves nothing.
#[derive(Clone, Debug, Default)]
pub struct BundleRecord {
    /// Heights ascending.
    blocks: VecDeque<(u32, LeastFees)>,
}

impl BundleRecord {
    /// A block joined the chain.
    pub fn added(&mut self, block: &CarriedBlock) {
        let mut least = LeastFees::new();
        for entry in &block.body {
            let Body::ChildBlock { child, .. } = entry.transaction.transaction.body else {
                continue;
            };
            let bundler = entry.transaction.sender;
            let others = entry.children.iter().filter(|one| one.sender != bundler);
            if let Some(fee) = others.map(|one| one.transaction.fee).min() {
                least.insert((child, bundler), fee);
            }
        }
        self.blocks.push_back((block.header.height, least));
        if self.blocks.len() > PROVEN_BLOCKS {
            self.blocks.pop_front();
        }
    }

    /// The block of this height was taken back, with all above it.
    pub fn popped(&mut self, height: u32) {
        self.blocks.retain(|(of, _)| *of < height);
    }

    /// Whether a bundler has lately carried a transaction of another account for this fee or less.
    #[must_use]
    pub fn is_proven(&self, child: ChainId, bundler: &AccountId, fee: u64) -> bool {
        let mut carried = self.blocks.iter();
        carried.any(|(_, least)| {
            let carried = least.get(&(child, *bundler));
            carried.is_some_and(|carried| *carried <= fee)
        })
    }
}
