//! Operators' orders: rollback, trusted blocks, emptying of the pool, and pruning.

mod order;
mod order_done;
mod prune;
mod roll_back;
mod trust;
mod trusted_blocks;

pub(super) use order::Order;
pub use order_done::OrderDone;
pub(super) use trusted_blocks::TrustedBlocks;
