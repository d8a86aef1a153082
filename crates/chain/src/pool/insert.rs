//! Insertion of transactions into the pool.

use std::sync::Arc;

use super::entry::{Turn, debit_of};
use super::links::End;
use super::{Balances, FeeRate, Pool};
use crate::minor_units::minor_units_on;
use crate::port::StoreFailure;
use crate::transaction::Body;
use crate::{BlockTimestamp, Carried, Rejection};

impl Pool {
    /// Inserts a transaction or returns the reason for its refusal. Child blocks need [`Pool::insert_child_block`]. In a full
    /// pool it replaces transactions that pay less or belong to a chain that uses more room.
    pub fn insert(
        &mut self,
        carried: Arc<Carried>,
        now: BlockTimestamp,
        balances: &mut impl Balances,
    ) -> Result<Result<(), Rejection>, StoreFailure> {
        if let Err(rejection) = self.check_known(&carried, now) {
            return Ok(Err(rejection));
        }
        let turn = turn_of(&carried, self.last_place + 1);
        let victims = match self.evictions_for(&carried, turn) {
            Ok(victims) => victims,
            Err(rejection) => return Ok(Err(rejection)),
        };
        if let Err(rejection) = self.check_cover(&carried, 0, balances)? {
            let listed = self.is_listed(&carried.id);
            if !listed || !self.make_way(&carried, now, balances)? {
                return Ok(Err(rejection));
            }
        }
        self.evict(victims);
        self.last_place += 1;
        self.link(carried, turn, End::Last);
        Ok(Ok(()))
    }

    /// Inserts a transaction that was accepted before this node restarted, regardless of its sender's balance. It is parked if
    /// the balance does not cover it.
    pub fn restore(&mut self, carried: Arc<Carried>, now: BlockTimestamp) -> Result<(), Rejection> {
        self.check_known(&carried, now)?;
        let turn = turn_of(&carried, self.last_place + 1);
        let victims = self.evictions_for(&carried, turn)?;
        self.evict(victims);
        self.last_place += 1;
        let owner = (carried.sender, carried.transaction.chain);
        self.link(carried, turn, End::Last);
        self.unsettled.insert(owner);
        Ok(())
    }

    /// Checks whether a transaction would be accepted. Used before its signature is checked, so that a transaction that its sender
    /// cannot pay for costs no check of a signature.
    pub fn check(
        &self,
        carried: &Carried,
        now: BlockTimestamp,
        balances: &mut impl Balances,
    ) -> Result<Result<(), Rejection>, StoreFailure> {
        let turn = turn_of(carried, i64::MAX);
        let checked = self
            .check_known(carried, now)
            .and_then(|()| self.evictions_for(carried, turn).map(drop));
        // Other transactions may make way for one that a child block lists.
        if checked.is_err() || self.is_listed(&carried.id) {
            return Ok(checked);
        }
        self.check_cover(carried, 0, balances)
    }

    fn check_known(&self, carried: &Carried, now: BlockTimestamp) -> Result<(), Rejection> {
        if matches!(carried.transaction.body, Body::ChildBlock { .. }) {
            return Err(Rejection::new(
                "chain_pool.wrong_list",
                "a child block without its list of ids",
            ));
        }
        refused_as_known(self, carried, now)?;
        // A sender without an entry has no transactions here.
        let held = self.senders.get(&carried.sender).copied().unwrap_or(0);
        if held as usize >= self.settings.per_sender_max {
            return Err(Rejection::new(
                "chain_pool.sender_full",
                format!("{} has {held} transactions waiting here", carried.sender),
            ));
        }
        Ok(())
    }

    /// Checks whether the sender's confirmed balance covers the transaction in addition to its other waiting ones. `freed` is the
    /// debit of those that leave for it, in minor units.
    pub(super) fn check_cover(
        &self,
        carried: &Carried,
        freed: u128,
        balances: &mut impl Balances,
    ) -> Result<Result<(), Rejection>, StoreFailure> {
        let chain = carried.transaction.chain;
        let debit = debit_of(carried);
        let balance = balances.balance(carried.sender, chain)?;
        let purse = self.purses.get(&(carried.sender, chain));
        let pending = purse.map_or(0, |purse| purse.pending) - freed;
        let countable = carried.transaction.debit().is_some();
        if countable && pending + debit.get_u128() <= balance.get_u128() {
            return Ok(Ok(()));
        }
        Ok(Err(Rejection::new(
            "chain_pool.insufficient_balance",
            format!(
                "the debit is {}; {} has {}, of which its waiting transactions spend {}",
                debit.on(chain),
                carried.sender,
                balance.on(chain),
                minor_units_on(pending, chain)
            ),
        )))
    }

    pub(super) fn turn_at_end(&mut self, carried: &Carried) -> Turn {
        self.last_place += 1;
        turn_of(carried, self.last_place)
    }
}

/// Returns the turn of a transaction that arrived at this place.
pub(super) fn turn_of(carried: &Carried, place: i64) -> Turn {
    Turn::new(FeeRate::of(carried.transaction.fee, carried.bytes), place)
}

/// Refuses a transaction that is already in the pool or has expired.
pub(super) fn refused_as_known(
    pool: &Pool,
    carried: &Carried,
    now: BlockTimestamp,
) -> Result<(), Rejection> {
    if pool.ids.contains_key(&carried.id) {
        return Err(Rejection::new(
            "chain_pool.known",
            format!("{} is already in the pool", carried.id),
        ));
    }
    let expires = carried.transaction.expires();
    if expires < now {
        return Err(Rejection::new(
            "chain_pool.expired",
            format!("its deadline was second {expires}, and now is second {now}"),
        ));
    }
    Ok(())
}
