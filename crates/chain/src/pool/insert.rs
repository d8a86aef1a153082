//! What is taken into the pool.

use std::sync::Arc;

use super::entry::{Turn, fee_rate};
use super::{Balances, Pool, Signed};
use crate::Rejection;
use crate::port::StoreFailure;

impl Pool {
    /// Takes a transaction (no child block: those have [`Pool::insert_child_block`]), or says why not. In a full pool it takes the
    /// place of others that pay less, or of a chain that takes more room.
    pub fn insert(
        &mut self,
        signed: Arc<Signed>,
        now: u32,
        balances: &mut impl Balances,
    ) -> Result<Result<(), Rejection>, StoreFailure> {
        if let Err(rejection) = self.check_known(&signed, now) {
            return Ok(Err(rejection));
        }
        let victims = match self.room_for(&signed) {
            Ok(victims) => victims,
            Err(rejection) => return Ok(Err(rejection)),
        };
        if let Err(rejection) = self.check_cover(&signed, 0, balances)? {
            return Ok(Err(rejection));
        }
        self.evict(victims);
        let turn = self.turn_at_end(&signed);
        self.link(signed, turn);
        Ok(Ok(()))
    }

    /// Whether a transaction would be taken, as far as can be said without a balance: before its signature is checked.
    pub fn check(&self, signed: &Signed, now: u32) -> Result<(), Rejection> {
        self.check_known(signed, now)?;
        self.room_for(signed).map(drop)
    }

    fn check_known(&self, signed: &Signed, now: u32) -> Result<(), Rejection> {
        refused_as_known(self, signed, now)?;
        let held = self.senders.get(&signed.sender).copied().unwrap_or(0);
        if held as usize >= self.settings.per_sender_max {
            return Err(Rejection::new(
                "chain_pool.sender_full",
                format!("{} has {held} transactions waiting here", signed.sender),
            ));
        }
        Ok(())
    }

    /// Whether the sender's confirmed balance covers it, besides what else waits; `freed` of that leaves for it.
    pub(super) fn check_cover(
        &self,
        signed: &Signed,
        freed: u128,
        balances: &mut impl Balances,
    ) -> Result<Result<(), Rejection>, StoreFailure> {
        let chain = signed.transaction.chain;
        let balance = balances.balance(signed.sender, chain)?;
        let purse = self.purses.get(&(signed.sender, chain));
        let pending = purse.map_or(0, |purse| purse.pending) - freed;
        if pending + u128::from(signed.debit) <= u128::from(balance) {
            return Ok(Ok(()));
        }
        Ok(Err(Rejection::new(
            "chain_pool.insufficient_balance",
            format!(
                "it takes {}; {} has {balance} on chain {chain}, of which {pending} is spent by transactions that wait",
                signed.debit, signed.sender
            ),
        )))
    }

    pub(super) fn turn_at_end(&mut self, signed: &Signed) -> Turn {
        self.last_place += 1;
        turn_of(signed, self.last_place)
    }
}

/// The turn of a transaction that came in this place.
pub(super) fn turn_of(signed: &Signed, place: i64) -> Turn {
    Turn::new(fee_rate(signed.transaction.fee, signed.length), place)
}

/// Refuses what is here already, and what no block can have any more.
pub(super) fn refused_as_known(pool: &Pool, signed: &Signed, now: u32) -> Result<(), Rejection> {
    if pool.ids.contains_key(&signed.id) {
        return Err(Rejection::new(
            "chain_pool.known",
            format!("{} waits here already", signed.id),
        ));
    }
    let expires = signed.transaction.expires();
    if expires < now {
        return Err(Rejection::new(
            "chain_pool.expired",
            format!("it was to be in a block until second {expires}; it is {now}"),
        ));
    }
    Ok(())
}
