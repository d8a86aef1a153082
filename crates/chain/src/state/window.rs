//! The last blocks of the branch in memory, for anchors, block times and forgers.

use std::collections::VecDeque;

use primitives::Hash;

use super::rows::HeaderRow;
use crate::port::{StoreFailure, damaged};

/// The remembered data of a block.
#[derive(Clone, Debug)]
pub(super) struct BlockSummary {
    pub(super) hash: Hash,
    pub(super) time: u32,
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
    first: u32,
}

impl Window {
    /// Maximum number of remembered blocks.
    pub(super) const BLOCKS_MAX: usize = 2_048;

    /// Returns an empty window. The next block has this height.
    pub(super) fn new(first: u32) -> Self {
        Self {
            blocks: VecDeque::new(),
            first,
        }
    }

    pub(super) fn get(&self, height: u32) -> Option<&BlockSummary> {
        let place = height.checked_sub(self.first)?;
        self.blocks.get(place as usize)
    }

    /// Returns the blocks, the newest first.
    pub(super) fn newest(&self) -> impl Iterator<Item = &BlockSummary> {
        self.blocks.iter().rev()
    }

    pub(super) fn push(&mut self, height: u32, seen: BlockSummary) -> Result<(), StoreFailure> {
        if u64::from(height) != u64::from(self.first) + self.blocks.len() as u64 {
            return Err(damaged(format!(
                "block {height} does not follow the one before it"
            )));
        }
        self.blocks.push_back(seen);
        if self.blocks.len() > Self::BLOCKS_MAX {
            self.blocks.pop_front();
            self.first += 1;
        }
        Ok(())
    }

    /// Forgets the last block, which has this height.
    pub(super) fn pop(&mut self, height: u32) {
        if self.blocks.pop_back().is_none() {
            self.first = height;
        }
    }
}
