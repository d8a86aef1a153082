//! What can be seen of a pool.

use std::ops::Bound;
use std::sync::Arc;

use super::{ChildBlock, Pool};
use crate::{AccountId, Carried, ChainId, TxId};

/// How a transaction stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The next block may have it.
    Ready,
    /// A child block that waits here carries it.
    Bundled,
    /// Its sender's balance does not cover it now.
    Parked,
}

/// A child block in the pool.
#[derive(Clone, Copy, Debug)]
pub struct Offer<'a> {
    /// The child block with its list.
    pub block: &'a Arc<ChildBlock>,
    /// A block may have it: all that it carries is here and covered, and so is its fee.
    pub complete: bool,
}

/// How full a pool is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolFigures {
    /// Transactions, child blocks not counted.
    pub transactions: usize,
    /// Their bytes.
    pub bytes: usize,
    /// Those whose sender's balance does not cover them now.
    pub parked: usize,
    /// Child blocks.
    pub child_blocks: usize,
}

impl Pool {
    /// How full it is.
    #[must_use]
    pub fn figures(&self) -> PoolFigures {
        PoolFigures {
            transactions: self.transactions,
            bytes: self.bytes,
            parked: self.parked,
            child_blocks: self.offers.values().map(|offers| offers.best.len()).sum(),
        }
    }

    /// How many transactions of a chain wait, child blocks not counted.
    #[must_use]
    pub fn waiting_on(&self, chain: ChainId) -> usize {
        let lane = self.lanes.get(&chain);
        lane.map_or(0, |lane| lane.ready.len() + lane.parked.len())
    }

    /// Whether it is here, child blocks included.
    #[must_use]
    pub fn contains(&self, id: &TxId) -> bool {
        self.ids.contains_key(id)
    }

    /// A transaction that is here, child blocks included.
    #[must_use]
    pub fn get(&self, id: &TxId) -> Option<&Arc<Carried>> {
        self.ids.get(id).map(|slot| &self.slots.get(*slot).carried)
    }

    /// A child block that is here.
    #[must_use]
    pub fn child_block(&self, id: &TxId) -> Option<&Arc<ChildBlock>> {
        let carrier = self.slots.get(*self.ids.get(id)?).carrier.as_ref();
        carrier.map(|carrier| &carrier.block)
    }

    /// How a transaction that is here stands.
    #[must_use]
    pub fn standing(&self, id: &TxId) -> Option<Standing> {
        let entry = self.slots.get(*self.ids.get(id)?);
        Some(if entry.parked {
            Standing::Parked
        } else if self.carriers.of(id).next().is_some() {
            Standing::Bundled
        } else {
            Standing::Ready
        })
    }

    /// Whether a child block that waits here lists the id.
    #[must_use]
    pub fn is_listed(&self, id: &TxId) -> bool {
        self.carriers.of(id).next().is_some()
    }

    /// Which of a child block's transactions are not here: to be fetched.
    #[must_use]
    pub fn missing_of(&self, block: &ChildBlock) -> Vec<TxId> {
        let ids = block.ids().iter();
        ids.filter(|id| !self.contains(id)).copied().collect()
    }

    /// What an account's transactions debit on a chain, parked ones not counted, in minor units.
    #[must_use]
    pub fn pending_debit(&self, account: AccountId, chain: ChainId) -> u64 {
        let purse = self.purses.get(&(account, chain));
        purse.map_or(0, |purse| u64::try_from(purse.pending).unwrap_or(u64::MAX))
    }

    /// What a block may have of a chain, child blocks not among it: the greatest fee rate first, then who came first.
    pub fn waiting(&self, chain: ChainId) -> impl Iterator<Item = &Arc<Carried>> {
        let lane = self.lanes.get(&chain).into_iter();
        lane.flat_map(|lane| lane.ready.values())
            .map(|slot| &self.slots.get(*slot).carried)
            .filter(|carried| self.settled(carried))
    }

    /// The child blocks of a chain that wait: the greatest fee first, then the greatest count, then who came first.
    pub fn child_blocks(&self, child: ChainId) -> impl Iterator<Item = Offer<'_>> {
        let offers = self.offers.get(&child).into_iter();
        offers
            .flat_map(|offers| offers.best.values())
            .filter_map(|slot| {
                let entry = self.slots.get(*slot);
                let carrier = entry.carrier.as_ref()?;
                Some(Offer {
                    block: &carrier.block,
                    complete: carrier.lacking == 0 && !entry.parked && self.settled(&entry.carried),
                })
            })
    }

    /// The chains of which child blocks wait.
    pub fn chains_with_child_blocks(&self) -> impl Iterator<Item = ChainId> {
        self.offers.keys().copied()
    }

    /// An account's transactions, on all chains, parked ones included, chain by chain in the order in which they
    /// came, at most `limit`.
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

    /// Whatever waits, of all chains, parked ones included, child blocks not among it: ascending by id, from the first above `after`.
    pub fn after(&self, after: Option<TxId>) -> impl Iterator<Item = &Arc<Carried>> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let slots = self.pages.range((from, Bound::Unbounded));
        slots.map(|(_, slot)| &self.slots.get(*slot).carried)
    }

    /// The ids of all that is here, child blocks included, in no particular order.
    pub fn ids(&self) -> impl Iterator<Item = TxId> {
        self.slots.entries().map(|entry| entry.carried.id)
    }

    /// Whether a child block of a chain may carry a transaction with this id now.
    pub(super) fn is_ready(&self, id: &TxId, child: ChainId) -> bool {
        self.ids.get(id).is_some_and(|slot| {
            let entry = self.slots.get(*slot);
            !entry.parked && entry.carried.transaction.chain == child
        })
    }

    /// Whether its sender's account needs no new look.
    pub(crate) fn settled(&self, carried: &Carried) -> bool {
        self.unsettled.is_empty()
            || !self
                .unsettled
                .contains(&(carried.sender, carried.transaction.chain))
    }
}
