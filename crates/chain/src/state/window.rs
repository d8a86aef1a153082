//! The last blocks of the branch in memory, for anchors, timestamps and forgers.

use std::collections::VecDeque;

use primitives::Hash;

use super::rows::HeaderRow;
use crate::port::{StoreFailure, damaged};
use crate::{BlockTimestamp, Height};

/// The remembered data of a block.
#[derive(Clone, Debug)]
pub(super) struct BlockSummary {
    pub(super) hash: Hash,
    pub(super) time: BlockTimestamp,
    pub(super) forger: [u8; 32],
    /// Number of lease rows that the block changed.
    pub(super) leases: u32,
}

impl BlockSummary {
    pub(super) fn of(row: &HeaderRow) -> Self {
        Self {
            hash: row.hash,
            time: row.header.time,
            forger: row.header.forger,
            leases: row.leases,
        }
    }
}

/// Blocks of consecutive heights up to the tip.
#[derive(Debug)]
pub(super) struct Window {
    blocks: VecDeque<BlockSummary>,
    /// The height of the first block.
    first: Height,
}

impl Window {
    /// Maximum number of remembered blocks.
    pub(super) const BLOCKS_MAX: usize = 2_048;

    /// Returns an empty window. The next block has this height.
    pub(super) fn new(first: Height) -> Self {
        Self {
            blocks: VecDeque::new(),
            first,
        }
    }

    pub(super) fn get(&self, height: Height) -> Option<&BlockSummary> {
        let place = height.blocks_since(self.first)?;
        self.blocks.get(place as usize)
    }

    /// Returns the blocks, the newest first.
    pub(super) fn newest(&self) -> impl Iterator<Item = &BlockSummary> {
        self.blocks.iter().rev()
    }

    pub(super) fn push(&mut self, height: Height, seen: BlockSummary) -> Result<(), StoreFailure> {
        let above_first = height
            .blocks_since(self.first)
            .map(|blocks| blocks as usize);
        if above_first != Some(self.blocks.len()) {
            return Err(damaged(format!(
                "block {height} does not follow the one before it"
            )));
        }
        self.blocks.push_back(seen);
        if self.blocks.len() > Self::BLOCKS_MAX {
            self.blocks.pop_front();
            self.first = self.first.next().expect("at most the height of the block");
        }
        Ok(())
    }

    /// Forgets the last block, which has this height.
    pub(super) fn pop(&mut self, height: Height) {
        if self.blocks.pop_back().is_none() {
            self.first = height;
        }
    }
}
