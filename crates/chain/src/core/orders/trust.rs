//! Blocks that an operator or the settings trust.

use primitives::Hash;

use super::order::Order;
use super::order_done::OrderDone;
use crate::core::limits::TRUSTED_MAX;
use crate::core::{Core, Ticket};
use crate::port::{Reads, StoreFailure, Table};
use crate::state::Fault;
use crate::{Height, Rejection};

impl<R: Reads<Table>> Core<R> {
    pub(in crate::core) fn trust(
        &mut self,
        ticket: Ticket,
        height: Height,
        hash: Hash,
    ) -> Result<(), StoreFailure> {
        let order = Order::Trust {
            ticket,
            height,
            hash,
        };
        let outcome = self.trust_block(height, hash, order)?;
        if let Some(outcome) = outcome.transpose() {
            self.done(ticket, outcome);
        }
        Ok(())
    }

    /// Trusts a block and returns the result. Returns no result yet if blocks must be rolled back first.
    fn trust_block(
        &mut self,
        height: Height,
        hash: Hash,
        order: Order,
    ) -> Result<Result<Option<OrderDone>, Rejection>, StoreFailure> {
        let Some(below) = height.previous().filter(|_| !self.trusted.is_full()) else {
            let detail = format!(
                "cannot trust a block at height {height}: at most {TRUSTED_MAX} blocks above genesis"
            );
            return Ok(Err(Rejection::new("chain_order.no_such_block", detail)));
        };
        if let Err(rejection) = self.not_busy() {
            return Ok(Err(rejection));
        }
        if height <= self.rows.tip().height && self.hash_at(height)? != Some(hash) {
            let begun = self.roll_back(below, order)?;
            return Ok(begun.map(|()| None));
        }
        self.keep_trusted(height, hash);
        self.restart_sync();
        Ok(Ok(Some(OrderDone::Trusted { rolled_back: 0 })))
    }

    pub(super) fn keep_trusted(&mut self, height: Height, hash: Hash) {
        self.trusted.add(&mut self.rows, height, hash);
    }

    /// Compares the trusted blocks with the stored chain.
    ///
    /// # Errors
    /// `chain.checkpoint_mismatch`, naming the first height that differs.
    pub(in crate::core) fn check_trusted(&self) -> Result<(), Fault> {
        for (height, trusted) in self.trusted.iter() {
            if *height > self.rows.tip().height {
                return Ok(());
            }
            let stored = match *height {
                Height::GENESIS => Some(self.genesis.hash),
                height => self.hash_at(height)?,
            };
            if stored != Some(*trusted) {
                let stored = stored.map_or_else(|| "missing".to_owned(), |hash| hash.to_string());
                let detail = format!("block {height} is {stored}, expected {trusted}");
                return Err(Fault::Refused(Rejection::new(
                    "chain.checkpoint_mismatch",
                    detail,
                )));
            }
        }
        Ok(())
    }
}
