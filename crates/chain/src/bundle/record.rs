//! The lowest fees that bundlers have recently accepted, according to the blocks.

use std::collections::{BTreeMap, VecDeque};

use crate::block::CarriedBlock;
use crate::transaction::Body;
use crate::{AccountId, ChainId, Height, MinorUnits};

/// Number of recent blocks. A rate counts as proven if its bundler has bundled at it in one of them.
pub const PROVEN_BLOCKS: usize = 60;

/// The lowest child fee that each bundler has accepted for a transaction of another account.
type LeastFees = BTreeMap<(ChainId, AccountId), MinorUnits>;

/// The lowest fees that bundlers carried in each of the last [`PROVEN_BLOCKS`] blocks. A bundler's own transactions prove
/// nothing.
#[derive(Clone, Debug, Default)]
pub struct BundleRecord {
    /// In ascending order of heights.
    blocks: VecDeque<(Height, LeastFees)>,
}

impl BundleRecord {
    /// Records a block that joined the chain.
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

    /// Forgets the blocks from this height on, which were rolled back.
    pub fn popped(&mut self, height: Height) {
        self.blocks.retain(|(of, _)| *of < height);
    }

    /// Returns whether a bundler has recently carried a transaction of another account for this fee or less.
    #[must_use]
    pub fn is_proven(&self, child: ChainId, bundler: &AccountId, fee: MinorUnits) -> bool {
        let mut carried = self.blocks.iter();
        carried.any(|(_, least)| {
            let carried = least.get(&(child, *bundler));
            carried.is_some_and(|carried| *carried <= fee)
        })
    }
}
