//! Settling of accounts whose balance changed outside the pool.

use super::{Balances, Pool};
use crate::port::StoreFailure;
use crate::{AccountId, BlockTimestamp, ChainId};

/// The first parked transactions of an account, among which those that child blocks list become ready first.
const LISTED_WITHIN: usize = 1_024;
/// Parked transactions of an account that are passed over because they are too large, before the rest waits for another time.
const PASSED_OVER_MAX: usize = 16;

impl Pool {
    /// Looks at the unsettled accounts. Parks transactions that the balance no longer covers, and makes ready those that it covers
    /// again. Transactions that child blocks list are preferred. After a failure, the other accounts are still unsettled.
    pub fn settle(
        &mut self,
        now: BlockTimestamp,
        balances: &mut impl Balances,
    ) -> Result<(), StoreFailure> {
        while let Some(owner) = self.unsettled.first().copied() {
            let balance = balances.balance(owner.0, owner.1)?.get_u128();
            self.park_uncovered(owner, balance, now);
            self.make_ready(owner, balance);
            self.unsettled.remove(&owner);
        }
        Ok(())
    }

    /// Returns whether no account is unsettled.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.unsettled.is_empty()
    }

    pub(super) fn pending(&self, owner: (AccountId, ChainId)) -> u128 {
        self.purses.get(&owner).map_or(0, |purse| purse.pending)
    }

    fn park_uncovered(&mut self, owner: (AccountId, ChainId), balance: u128, now: BlockTimestamp) {
        while self.pending(owner) > balance {
            let Some(slot) = self.first_to_park(owner) else {
                return;
            };
            self.park(slot, now);
        }
    }

    fn make_ready(&mut self, owner: (AccountId, ChainId), balance: u128) {
        let Some(purse) = self.purses.get(&owner) else {
            return;
        };
        // Ready transactions that are not covered leave no room.
        let mut room = balance.saturating_sub(purse.pending);
        let (mut covered, mut passed_over) = (Vec::new(), 0);
        let listed = |slot: &u32| self.is_listed(&self.slots.get(*slot).carried.id);
        let waiting = || purse.parked.iter(&self.slots);
        let preferred = waiting().take(LISTED_WITHIN).filter(listed);
        let others = waiting().enumerate();
        let others = others.filter(|(at, slot)| *at >= LISTED_WITHIN || !listed(slot));
        for slot in preferred.chain(others.map(|(_, slot)| slot)) {
            let debit = self.slots.get(slot).debit.get_u128();
            if debit <= room {
                room -= debit;
                covered.push(slot);
            } else {
                passed_over += 1;
                if passed_over == PASSED_OVER_MAX {
                    break;
                }
            }
        }
        for slot in covered {
            let ends = self.slots.get(slot).deadline();
            self.set_parked(slot, false, ends);
        }
    }
}
