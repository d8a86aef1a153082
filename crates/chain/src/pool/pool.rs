//! The fields of the pool.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::PoolSettings;
use super::carriers::Carriers;
use super::entry::Slots;
use super::lanes::Lane;
use super::offers::Offers;
use super::purse::Purse;
use crate::{AccountId, BlockTimestamp, Carried, ChainId, Height, TxId};

/// A transaction that left the pool without being in a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removal {
    /// The transaction.
    pub carried: Arc<Carried>,
    /// The reason, a code of [`crate::ERRORS`].
    pub reason: &'static str,
}

/// The pool of one node.
#[derive(Debug, Default)]
pub struct Pool {
    pub(super) settings: PoolSettings,
    pub(super) slots: Slots,
    pub(super) ids: HashMap<TxId, u32>,
    /// Transactions by id, without child blocks, for reading in pages.
    pub(super) pages: BTreeMap<TxId, u32>,
    pub(super) lanes: BTreeMap<ChainId, Lane>,
    pub(super) offers: BTreeMap<ChainId, Offers>,
    /// Chains that have ever had a transaction in the pool.
    pub(super) chains: BTreeSet<ChainId>,
    pub(super) carriers: Carriers,
    /// Accounts with transactions in the pool.
    pub(super) purses: HashMap<(AccountId, ChainId), Purse>,
    /// Number of each sender's transactions, without child blocks.
    pub(super) senders: HashMap<AccountId, u32>,
    /// The time at which each entry leaves, with its slot.
    pub(super) ends: BTreeSet<(BlockTimestamp, u32)>,
    /// Slots by the height of their anchor, except for anchors at genesis. A reorg examines only the lost heights.
    pub(super) anchors: BTreeSet<(Height, u32)>,
    /// Accounts whose balance may no longer cover their ready transactions, or may cover parked ones.
    pub(super) unsettled: BTreeSet<(AccountId, ChainId)>,
    /// Number of transactions, without child blocks.
    pub(super) transactions: usize,
    /// Bytes of these transactions.
    pub(super) bytes: usize,
    pub(super) parked: usize,
    /// The places of the last and the first entry so far in the order of arrival. A transaction that a rollback returns gets a place
    /// before the first.
    pub(super) last_place: i64,
    pub(super) first_place: i64,
    pub(super) left: Vec<Removal>,
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
    pub fn take_removals(&mut self) -> Vec<Removal> {
        std::mem::take(&mut self.left)
    }
}
