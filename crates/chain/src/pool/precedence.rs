//! Which of an account's transactions stay ready when its balance does not cover them all: those that child blocks list.
//!
//! An account can send two payments that its balance covers one at a time, to two nodes. Each node takes the payment that it
//! hears of first. A child block that lists one of them lacks it on every node that holds the other, and is in no block of
//! those forgers. All other payments of the child block wait with it. So a listed transaction parks the unlisted ones of its
//! own account, and the nodes agree with the bundler.

use super::purse::NO_SLOT;
use super::{Balances, ChildBlock, Pool};
use crate::port::StoreFailure;
use crate::{AccountId, BlockTimestamp, Carried, ChainId};

/// Transactions of one account that are examined at most, those that came last first, to find unlisted ones.
const EXAMINED_MAX: usize = 1_024;

impl Pool {
    /// Parks transactions of the account that no child block lists, those that came last first, until its balance covers the
    /// transaction too. Returns whether it does; otherwise nothing has changed.
    pub(super) fn make_way(
        &mut self,
        carried: &Carried,
        now: BlockTimestamp,
        balances: &mut impl Balances,
    ) -> Result<bool, StoreFailure> {
        let Some(debit) = carried.transaction.debit() else {
            return Ok(false);
        };
        let owner = (carried.sender, carried.transaction.chain);
        let balance = balances.balance(owner.0, owner.1)?.get_u128();
        // A balance that covers everything lacks nothing.
        let mut short = (self.pending(owner) + debit.get_u128()).saturating_sub(balance);
        let mut parked = Vec::new();
        for slot in self.unlisted(owner) {
            if short == 0 {
                break;
            }
            // The last parked transaction may free more than is lacking.
            short = short.saturating_sub(self.slots.get(slot).debit.get_u128());
            parked.push(slot);
        }
        if short > 0 {
            return Ok(false);
        }
        for slot in parked {
            self.park(slot, now);
        }
        Ok(true)
    }

    /// Makes the parked transactions ready that a child block lists, as far as unlisted transactions of the same accounts can be
    /// parked in exchange.
    pub(super) fn prefer_listed(
        &mut self,
        block: &ChildBlock,
        now: BlockTimestamp,
        balances: &mut impl Balances,
    ) -> Result<(), StoreFailure> {
        if self.parked == 0 {
            return Ok(());
        }
        for id in block.ids() {
            let Some(slot) = self.ids.get(id).copied() else {
                continue;
            };
            let entry = self.slots.get(slot);
            if !entry.parked || entry.owner().1 != block.child() {
                continue;
            }
            let (carried, deadline) = (entry.carried.clone(), entry.deadline());
            if self.make_way(&carried, now, balances)? {
                self.set_parked(slot, false, deadline);
            }
        }
        Ok(())
    }

    /// The transaction of an account to park first: the last unlisted one, or else the last one.
    pub(super) fn first_to_park(&self, owner: (AccountId, ChainId)) -> Option<u32> {
        let unlisted = self.unlisted(owner).next();
        unlisted.or_else(|| {
            let last = self.purses.get(&owner)?.ready.last;
            (last != NO_SLOT).then_some(last)
        })
    }

    /// Parks a ready transaction for as long as the settings allow.
    pub(super) fn park(&mut self, slot: u32, now: BlockTimestamp) {
        // A deadline at the last second is never over.
        let patient = now.plus_or_last(self.settings.patience_seconds());
        let ends = self.slots.get(slot).deadline().min(patient);
        self.set_parked(slot, true, ends);
    }

    /// The ready transactions of an account that no child block lists, from the last of [`EXAMINED_MAX`].
    fn unlisted(&self, owner: (AccountId, ChainId)) -> impl Iterator<Item = u32> {
        let line = self.purses.get(&owner).map(|purse| purse.ready);
        line.into_iter()
            .flat_map(|line| line.iter_back(&self.slots))
            .take(EXAMINED_MAX)
            .filter(|slot| !self.is_listed(&self.slots.get(*slot).carried.id))
    }
}
