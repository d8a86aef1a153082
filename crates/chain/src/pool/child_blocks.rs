//! Child blocks in the pool: a few for each chain, the best first.

use std::sync::Arc;

use super::entry::Turn;
use super::insert::refused_as_known;
use super::links::End;
use super::{Balances, ChildBlock, Pool};
use crate::port::StoreFailure;
use crate::{BlockTimestamp, Rejection};

impl Pool {
    /// Inserts a child block or returns the reason for its refusal. Worse child blocks of the same bundler or chain make room for
    /// it and leave as superseded.
    ///
    /// # Correctness
    /// The caller must have checked that none of its transactions is in a block. For transactions in the pool this is certain.
    pub fn insert_child_block(
        &mut self,
        block: Arc<ChildBlock>,
        now: BlockTimestamp,
        balances: &mut impl Balances,
    ) -> Result<Result<(), Rejection>, StoreFailure> {
        let carried = block.transaction();
        let known = refused_as_known(self, carried, now);
        let victims = match known.and_then(|()| self.room_for_child_block(&block)) {
            Ok(victims) => victims,
            Err(rejection) => return Ok(Err(rejection)),
        };
        let freed: u128 = victims
            .iter()
            .map(|slot| self.slots.get(*slot))
            .filter(|entry| entry.carried.sender == carried.sender && !entry.parked)
            .map(|entry| entry.debit.get_u128())
            .sum();
        if let Err(rejection) = self.check_cover(carried, freed, balances)? {
            return Ok(Err(rejection));
        }
        for slot in victims {
            self.leave(slot, "chain_pool.superseded");
        }
        let turn = self.turn_at_end(carried);
        self.link_child_block(block.clone(), turn, End::Last);
        self.prefer_listed(&block, now, balances)?;
        Ok(Ok(()))
    }

    /// Checks whether a child block would be accepted. The bundler's waiting transactions are ignored, because they may leave for
    /// it. Used before its signature is checked, so that a child block that its bundler cannot pay for costs no check of a
    /// signature.
    pub fn check_child_block(
        &self,
        block: &ChildBlock,
        now: BlockTimestamp,
        balances: &mut impl Balances,
    ) -> Result<Result<(), Rejection>, StoreFailure> {
        let carried = block.transaction();
        let checked = refused_as_known(self, carried, now)
            .and_then(|()| self.room_for_child_block(block).map(drop));
        if checked.is_err() {
            return Ok(checked);
        }
        // A bundler without a purse has no waiting transactions.
        let purse = self
            .purses
            .get(&(carried.sender, carried.transaction.chain));
        let waiting = purse.map_or(0, |purse| purse.pending);
        self.check_cover(carried, waiting, balances)
    }

    /// Returns the child blocks that must leave for this one. Each pays less than it does, or lacks a transaction while it does
    /// not.
    pub(super) fn room_for_child_block(&self, block: &ChildBlock) -> Result<Vec<u32>, Rejection> {
        let bundler = block.transaction().sender;
        let limits = &self.settings;
        // A chain without an entry has no child blocks here.
        let mut held: Vec<u32> = self
            .offers
            .get(&block.child())
            .map(|offers| offers.best.values().rev().copied().collect())
            .unwrap_or_default();
        let own = |slot: &u32| self.slots.get(*slot).carried.sender == bundler;
        let owned = held.iter().filter(|slot| own(slot)).count();
        let (carried, more) = (self.carriers.total(), block.ids().len());
        if owned < limits.per_bundler_max
            && held.len() < limits.child_blocks_max
            && carried + more <= limits.carried_max
        {
            return Ok(Vec::new());
        }
        // A child block that no block can include now must not keep out one that blocks can include.
        let whole = self.lacking_of(block) == 0;
        held.sort_by_key(|slot| !(whole && self.is_lacking(*slot)));
        let mut victims: Vec<u32> = Vec::new();
        if owned >= limits.per_bundler_max {
            let worst = held.iter().copied().find(own);
            let what = format!("the pool has {owned} child blocks of this bundler and chain");
            victims.push(self.outbid(worst, block, whole, what)?);
        }
        if held.len() - victims.len() >= limits.child_blocks_max {
            let worst = held.iter().copied().find(|slot| !victims.contains(slot));
            let what = format!("the pool has {} child blocks of this chain", held.len());
            victims.push(self.outbid(worst, block, whole, what)?);
        }
        while carried + more - self.carried_by(&victims) > limits.carried_max {
            let worst = held.iter().copied().find(|slot| !victims.contains(slot));
            let what = format!(
                "the pool's child blocks carry {carried} transactions, and this one {more} more"
            );
            victims.push(self.outbid(worst, block, whole, what)?);
        }
        Ok(victims)
    }

    /// Returns the child block that makes room for a better one, or the refusal.
    fn outbid(
        &self,
        worst: Option<u32>,
        block: &ChildBlock,
        whole: bool,
        what: String,
    ) -> Result<u32, Rejection> {
        let paid = worst.map(|slot| self.slots.get(slot).carried.transaction.fee);
        match (worst, paid) {
            (Some(slot), _) if whole && self.is_lacking(slot) => Ok(slot),
            (Some(slot), Some(paid)) if paid < block.fee() => Ok(slot),
            (_, paid) => Err(Rejection::new(
                "chain_pool.child_blocks_full",
                match paid {
                    Some(paid) => format!("{what}; the fee must be above {paid}"),
                    None => what,
                },
            )),
        }
    }

    /// Returns the number of transactions of a child block that no block can include now.
    pub(super) fn lacking_of(&self, block: &ChildBlock) -> usize {
        let child = block.child();
        let ids = block.ids().iter();
        ids.filter(|id| !self.is_ready(id, child)).count()
    }

    /// Returns whether a child block of the pool lacks a transaction, or its bundler's balance does not cover it.
    fn is_lacking(&self, slot: u32) -> bool {
        let entry = self.slots.get(slot);
        let carrier = entry.carrier.as_ref();
        entry.parked || carrier.is_some_and(|carrier| carrier.lacking > 0)
    }

    /// Returns the number of ids that these child blocks carry.
    fn carried_by(&self, slots: &[u32]) -> usize {
        let carriers = slots
            .iter()
            .filter_map(|slot| self.slots.get(*slot).carrier.as_ref());
        carriers.map(|carrier| carrier.block.ids().len()).sum()
    }

    pub(super) fn drop_offer(&mut self, block: &ChildBlock, turn: Turn) {
        let child = block.child();
        if let Some(offers) = self.offers.get_mut(&child) {
            offers.remove(block, turn);
            if offers.best.is_empty() {
                self.offers.remove(&child);
            }
        }
    }
}
