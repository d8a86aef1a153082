//! The pool: transactions that wait for a block.
//!
//! ```text
//!  insert ─────────┐                       ┌─► waiting(chain): best fee rate first, then the earliest arrival
//!  block_popped ───┼──► lanes, purses, ────┼─► child_blocks(chain)
//!  block_added ────┤    ends, carriers     └─► take_left(): transactions that left without a block, with the reasons
//!  expire, settle ─┘
//! ```
//! # Invariants
//! - An account's confirmed balance on a chain covers the debits of its *ready* transactions there, unless the account is
//!   *unsettled*. Transactions of an unsettled account are not offered to blocks until [`Pool::settle`] has checked it. In a
//!   block debits come before credits, so any part of the offered transactions is valid.
//! - An accepted transaction leaves with a block, or is named by [`Pool::take_left`] with a code of [`crate::ERRORS`].
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

mod blocks;
mod carriers;
mod child_block;
mod child_blocks;
mod entry;
mod insert;
mod lanes;
mod leave;
mod links;
mod look;
mod precedence;
mod purse;
mod room;
mod settings;
mod settle;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use crate::port::StoreFailure;
use crate::{AccountId, Carried, ChainId, TxId};

pub use child_block::ChildBlock;
pub use entry::fee_rate;
pub use look::{Offer, PoolFigures, Standing};
pub use settings::PoolSettings;

use carriers::Carriers;
use child_blocks::Offers;
use entry::Slots;
use lanes::Lane;
use purse::Purse;

/// A source of confirmed balances at the tip.
pub trait Balances {
    /// Returns the balance in minor units, or 0 for an unknown account.
    fn balance(&mut self, account: AccountId, chain: ChainId) -> Result<u64, StoreFailure>;
}

impl<F: FnMut(AccountId, ChainId) -> Result<u64, StoreFailure>> Balances for F {
    fn balance(&mut self, account: AccountId, chain: ChainId) -> Result<u64, StoreFailure> {
        self(account, chain)
    }
}

/// A transaction that left the pool without being in a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// The transaction.
    pub carried: Arc<Carried>,
    /// The reason, a code of [`crate::ERRORS`].
    pub reason: &'static str,
}

/// The pool of one node.
#[derive(Debug, Default)]
pub struct Pool {
    settings: PoolSettings,
    slots: Slots,
    ids: HashMap<TxId, u32>,
    /// Transactions by id, without child blocks, for reading in pages.
    pages: BTreeMap<TxId, u32>,
    lanes: BTreeMap<ChainId, Lane>,
    offers: BTreeMap<ChainId, Offers>,
    /// Chains that have ever had a transaction in the pool.
    chains: BTreeSet<ChainId>,
    carriers: Carriers,
    /// Accounts with transactions in the pool.
    purses: HashMap<(AccountId, ChainId), Purse>,
    /// Number of each sender's transactions, without child blocks.
    senders: HashMap<AccountId, u32>,
    /// The second at which each entry leaves, with its slot.
    ends: BTreeSet<(u32, u32)>,
    /// Slots by the height of their anchor, except for anchors at genesis. A reorg examines only the lost heights.
    anchors: BTreeSet<(u32, u32)>,
    /// Accounts whose balance may no longer cover their ready transactions, or may cover parked ones.
    unsettled: BTreeSet<(AccountId, ChainId)>,
    /// Number of transactions, without child blocks.
    transactions: usize,
    /// Bytes of these transactions.
    bytes: usize,
    parked: usize,
    /// The last place at the end of the order, and the first place at its beginning.
    last_place: i64,
    first_place: i64,
    left: Vec<Left>,
}

impl Pool {
    /// Returns an empty pool.
    #[must_use]
    pub fn new(settings: PoolSettings) -> Self {
        Self {
            settings,
            ..Self::default()
        }
    }

    /// Takes the transactions that left without a block since the last call, in order.
    pub fn take_left(&mut self) -> Vec<Left> {
        std::mem::take(&mut self.left)
    }
}
