//! The result of an operator's order.

use crate::Height;

/// The result of an operator's order that was carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderDone {
    /// Blocks were rolled back.
    RolledBack {
        /// Their number.
        blocks: u32,
    },
    /// A block is trusted.
    Trusted {
        /// The number of blocks that were rolled back because they contradicted it.
        rolled_back: u32,
    },
    /// The pool is empty.
    PoolCleared {
        /// The number of transactions that left it.
        transactions: u64,
    },
    /// The deletion of bodies has begun.
    PruneBegun {
        /// The number of blocks whose bodies are being deleted; 0 if there is nothing to delete.
        blocks: u32,
        /// The last of these blocks.
        until: Height,
    },
}
