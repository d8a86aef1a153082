//! Queries of the pool.

use std::ops::Bound;
use std::sync::Arc;

use super::{ChildBlock, Pool};
use crate::{AccountId, Carried, ChainId, MinorUnits, TxId};

/// The status of a transaction in the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolStatus {
    /// The next block may include it.
    Ready,
    /// A waiting child block carries it.
    Bundled,
    /// Its sender's balance does not cover it now.
    Parked,
}

/// A child block in the pool.
#[derive(Clone, Copy, Debug)]
pub struct Offer<'a> {
    /// The child block with its list.
    pub block: &'a Arc<ChildBlock>,
    /// Whether a block may include it: all its transactions are in the pool and covered, and so is its fee.
    pub complete: bool,
}

/// Counts of the transactions and child blocks in a pool, for display and metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolFigures {
    /// Number of transactions, without child blocks.
    pub transactions: usize,
    /// Bytes of these transactions.
    pub bytes: usize,
    /// Number of transactions that their sender's balance does not cover now.
    pub parked: usize,
    /// Number of child blocks.
    pub child_blocks: usize,
}

impl Pool {
    /// Returns the counts of the pool.
    #[must_use]
    pub fn figures(&self) -> PoolFigures {
        PoolFigures {
            transactions: self.transactions,
            bytes: self.bytes,
            parked: self.parked,
            child_blocks: self.offers.values().map(|offers| offers.best.len()).sum(),
        }
    }

    /// Returns the number of waiting transactions of a chain, without child blocks.
    #[must_use]
    pub fn waiting_on(&self, chain: ChainId) -> usize {
        let lane = self.lanes.get(&chain);
        lane.map_or(0, |lane| lane.ready.len() + lane.parked.len())
    }

    /// Returns whether a transaction or child block is in the pool.
    #[must_use]
    pub fn contains(&self, id: &TxId) -> bool {
        self.ids.contains_key(id)
    }

    /// Returns a transaction or child block of the pool.
    #[must_use]
    pub fn get(&self, id: &TxId) -> Option<&Arc<Carried>> {
        self.ids.get(id).map(|slot| &self.slots.get(*slot).carried)
    }

    /// Returns a child block of the pool.
    #[must_use]
    pub fn child_block(&self, id: &TxId) -> Option<&Arc<ChildBlock>> {
        let carrier = self.slots.get(*self.ids.get(id)?).carrier.as_ref();
        carrier.map(|carrier| &carrier.block)
    }

    /// Returns the status of a transaction in the pool.
    #[must_use]
    pub fn status(&self, id: &TxId) -> Option<PoolStatus> {
        let entry = self.slots.get(*self.ids.get(id)?);
        Some(if entry.parked {
            PoolStatus::Parked
        } else if self.carriers.of(id).next().is_some() {
            PoolStatus::Bundled
        } else {
            PoolStatus::Ready
        })
    }

    /// Returns whether a waiting child block lists the id.
    #[must_use]
    pub fn is_listed(&self, id: &TxId) -> bool {
        self.carriers.of(id).next().is_some()
    }

    /// Returns the transactions of a child block that the pool lacks.
    #[must_use]
    pub fn missing_of(&self, block: &ChildBlock) -> Vec<TxId> {
        let ids = block.ids().iter();
        ids.filter(|id| !self.contains(id)).copied().collect()
    }

    /// Returns the debit of an account's ready transactions on a chain. The greatest amount stands for all above it.
    #[must_use]
    pub fn pending_debit(&self, account: AccountId, chain: ChainId) -> MinorUnits {
        let purse = self.purses.get(&(account, chain));
        // Debits beyond 64 bits leave nothing of any balance.
        purse.map_or(MinorUnits::ZERO, |purse| {
            MinorUnits::from_u128(purse.pending).unwrap_or(MinorUnits::MAX)
        })
    }

    /// Returns the transactions of a chain that a block may include, without child blocks: the greatest fee rate first, then the
    /// earliest arrival.
    pub fn waiting(&self, chain: ChainId) -> impl Iterator<Item = &Arc<Carried>> {
        let lane = self.lanes.get(&chain).into_iter();
        lane.flat_map(|lane| lane.ready.values())
            .map(|slot| &self.slots.get(*slot).carried)
            .filter(|carried| self.is_sender_settled(carried))
    }

    /// Returns the waiting child blocks of a chain: the greatest fee first, then the greatest count, then the earliest arrival.
    pub fn child_blocks(&self, child: ChainId) -> impl Iterator<Item = Offer<'_>> {
        let offers = self.offers.get(&child).into_iter();
        offers
            .flat_map(|offers| offers.best.values())
            .filter_map(|slot| {
                let entry = self.slots.get(*slot);
                let carrier = entry.carrier.as_ref()?;
                Some(Offer {
                    block: &carrier.block,
                    complete: carrier.lacking == 0
                        && !entry.parked
                        && self.is_sender_settled(&entry.carried),
                })
            })
    }

    /// Returns the ids of all waiting child blocks above `after`, ascending.
    pub fn child_block_ids_after(&self, after: TxId) -> Vec<TxId> {
        let slots = self.offers.values().flat_map(|offers| offers.best.values());
        let ids = slots.map(|slot| self.slots.get(*slot).carried.id);
        let mut ids: Vec<TxId> = ids.filter(|id| *id > after).collect();
        ids.sort_unstable();
        ids
    }

    /// Returns the chains with waiting child blocks.
    pub fn chains_with_child_blocks(&self) -> impl Iterator<Item = ChainId> {
        self.offers.keys().copied()
    }

    /// Returns at most `limit` of an account's transactions, including parked ones. Chains follow each other. Within a chain,
    /// ready transactions come first, and each group is in the order of its line.
    pub fn of_account(&self, account: AccountId, limit: usize) -> Vec<&Arc<Carried>> {
        let chains = self.chains.iter();
        let purses = chains.filter_map(|chain| self.purses.get(&(account, *chain)));
        let lines = purses.flat_map(|purse| [purse.ready, purse.parked]);
        lines
            .flat_map(|line| line.iter(&self.slots))
            .take(limit)
            .map(|slot| &self.slots.get(slot).carried)
            .collect()
    }

    /// Returns all waiting transactions of all chains in ascending order of ids, from the first above `after`. Includes parked
    /// transactions, but no child blocks.
    pub fn after(&self, after: Option<TxId>) -> impl Iterator<Item = &Arc<Carried>> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let slots = self.pages.range((from, Bound::Unbounded));
        slots.map(|(_, slot)| &self.slots.get(*slot).carried)
    }

    /// Returns the ids of all entries, including child blocks, in no particular order.
    pub fn ids(&self) -> impl Iterator<Item = TxId> {
        self.slots.entries().map(|entry| entry.carried.id)
    }

    /// Returns whether a child block of a chain may carry a transaction with this id now.
    pub(super) fn is_ready(&self, id: &TxId, child: ChainId) -> bool {
        self.ids.get(id).is_some_and(|slot| {
            let entry = self.slots.get(*slot);
            !entry.parked && entry.carried.transaction.chain == child
        })
    }

    /// Returns whether its sender's account is settled.
    pub(crate) fn is_sender_settled(&self, carried: &Carried) -> bool {
        self.unsettled.is_empty()
            || !self
                .unsettled
                .contains(&(carried.sender, carried.transaction.chain))
    }
}
