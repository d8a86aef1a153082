//! The pool: transactions that wait for a block.
//!
//! ```text
//!  insert ─────────┐                       ┌─► waiting(chain): best fee rate first, then the earliest arrival
//!  block_popped ───┼──► lanes, purses, ────┼─► child_blocks(chain)
//!  block_added ────┤    ends, carriers     └─► take_removals(): transactions that left without a block, with the reasons
//!  expire, settle ─┘
//! ```
//! # Invariants
//! - An account's confirmed balance on a chain covers the debits of its *ready* transactions there, unless the account is
//!   *unsettled*. Transactions of an unsettled account are not offered to blocks until [`Pool::settle`] has checked it. In a
//!   block debits come before credits, so any part of the offered transactions is valid.
//! - An accepted transaction leaves with a block, or is named by [`Pool::take_removals`] with a code of [`crate::ERRORS`].
//! - A transaction that a block or a rollback has left without cover is *parked*. It stays out of blocks until its sender's
//!   balance suffices again, and leaves after the patience of the settings.
//! - Each operation costs `O(log n)` for every transaction that it touches. A block touches its own transactions, and the
//!   accounts debited by transactions that the pool did not count.
//!
//! Hash maps are only looked up and never iterated, so no result depends on their order.
//!
//! # Correctness
//! The caller must have checked signatures and the rules that need no balance. It calls [`Pool::settle`] at the end of a round,
//! when the tip is final: once after a reorg, and not between its blocks. If no account is unsettled, this costs nothing.

mod balances;
mod blocks;
mod carriers;
mod child_block;
mod child_blocks;
mod entry;
mod eviction;
mod fee_rate;
mod insert;
mod lanes;
mod leave;
mod links;
mod look;
mod offers;
#[allow(clippy::module_inception)]
mod pool;
mod precedence;
mod purse;
mod settings;
mod settle;
#[cfg(test)]
pub(crate) mod tests;

pub use balances::Balances;
pub use child_block::ChildBlock;
pub use fee_rate::FeeRate;
pub use look::{Offer, PoolFigures, PoolStatus};
pub use pool::{Pool, Removal};
pub use settings::PoolSettings;
