//! Transactions on their way into a block.
//!
//! ```text
//!  insert ─────────┐                       ┌─► waiting(chain): best fee rate first, then who came first
//!  block_popped ───┼──► lanes, purses, ────┼─► child_blocks(chain)
//!  block_added ────┤    ends, carriers     └─► take_left(): who left without a block, and why
//!  expire, settle ─┘
//! ```
//! # Invariants
//! - What an account's *ready* transactions debit on a chain is covered by its confirmed balance there, unless the account is
//!   *unsettled*; those are offered to no block until [`Pool::settle`] has looked at them. In a block debits come before credits,
//!   so any part of what is offered is valid.
//! - A transaction that was accepted leaves into a block, or is named by [`Pool::take_left`] with a code of [`crate::ERRORS`].
//! - One that a block or a rollback has left without cover is *parked*: it stays out of blocks, and comes back when its sender
//!   has enough again; after the settings' patience it leaves.
//! - Each operation costs `O(log n)` for every transaction it touches; a block touches its own, and the accounts that something
//!   outside the pool has debited.
//!
//! Maps by hash are only looked up, never walked: nothing here depends on their order.
//!
//! # Correctness
//! The caller has checked signatures and the rules that need no balance. It calls [`Pool::settle`] at the end of a round, when the
//! tip stands: once after a change of branch, not between its blocks. With nothing unsettled it costs nothing.

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

/// Tells the confirmed balance of an account on a chain, at the tip.
pub trait Balances {
    /// In minor units; 0 for an account that nobody knows.
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
    /// Why: a code of [`crate::ERRORS`].
    pub reason: &'static str,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Pool {
    settings: PoolSettings,
    slots: Slots,
    ids: HashMap<TxId, u32>,
    /// Transactions by id, child blocks not among them: pages go along it.
    pages: BTreeMap<TxId, u32>,
    lanes: BTreeMap<ChainId, Lane>,
    offers: BTreeMap<ChainId, Offers>,
    /// Chains that ever had something here.
    chains: BTreeSet<ChainId>,
    carriers: Carriers,
    /// Accounts that have something here.
    purses: HashMap<(AccountId, ChainId), Purse>,
    /// How many transactions each sender has here, child blocks not counted.
    senders: HashMap<AccountId, u32>,
    /// Who leaves when.
    ends: BTreeSet<(u32, u32)>,
    /// Slots by the height of their anchor, those at genesis excepted: a change of branch looks at the lost heights alone.
    anchors: BTreeSet<(u32, u32)>,
    /// Accounts whose balance may no longer cover what they have here, or cover more.
    unsettled: BTreeSet<(AccountId, ChainId)>,
    /// Transactions, child blocks not counted.
    transactions: usize,
    /// Their bytes.
    bytes: usize,
    parked: usize,
    /// The next place at the end of the order, and the first one taken at its beginning.
    last_place: i64,
    first_place: i64,
    left: Vec<Left>,
}

impl Pool {
    /// An empty pool.
    #[must_use]
    pub fn new(settings: PoolSettings) -> Self {
        Self {
            settings,
            ..Self::default()
        }
    }

    /// Who left without a block since this was last asked, in order.
    pub fn take_left(&mut self) -> Vec<Left> {
        std::mem::take(&mut self.left)
    }
}
