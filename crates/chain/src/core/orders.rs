//! Operators' orders. An order that rolls blocks back is a reorg to an empty branch, see [`super::switch`].

use primitives::Hash;

use super::follow::State;
use super::limits::TRUSTED_MAX;
use super::switch::{Cause, Switch};
use super::{Action, Core, Ticket};
use crate::Rejection;
use crate::port::{Reads, StoreFailure, Table};
use crate::state::Fault;

/// Key in `Meta` for the blocks that an operator trusts, with height and hash each.
const TRUSTED: &[u8] = b"trusted";
/// The result of an order to trust a block.
const TRUSTED_NOW: &str = "the block is trusted";

/// An order that rolls blocks back and is answered when that is done.
#[derive(Debug)]
pub(super) enum Order {
    /// Roll back to a height.
    PopOff { ticket: Ticket },
    /// Roll back blocks that contradict a block to be trusted.
    Trust {
        ticket: Ticket,
        height: u32,
        hash: Hash,
    },
}

impl<R: Reads<Table>> Core<R> {
    pub(super) fn pop_off(&mut self, ticket: Ticket, height: u32) -> Result<(), StoreFailure> {
        if let Err(rejection) = self.roll_back(height, Order::PopOff { ticket })? {
            self.done(ticket, Err(rejection));
        }
        Ok(())
    }

    fn done(&mut self, ticket: Ticket, outcome: Result<String, Rejection>) {
        self.actions.push(Action::Done { ticket, outcome });
    }

    /// Begins to roll blocks back to a height, regardless of peers' branches, a part in each round. The last round answers the
    /// order. A crash before that leaves a valid chain and an order that is not completed.
    fn roll_back(
        &mut self,
        height: u32,
        order: Order,
    ) -> Result<Result<(), Rejection>, StoreFailure> {
        let tip = self.rows.tip().height;
        if let Err(rejection) = self.not_busy() {
            return Ok(Err(rejection));
        }
        if height > tip {
            let detail = format!("height {height} is above the tip, {tip}");
            return Ok(Err(Rejection::new("chain_order.no_such_block", detail)));
        }
        if !self.may_be_taken_back(height)? {
            let detail = format!("block {} cannot be taken back any more", height + 1);
            return Ok(Err(Rejection::new("chain_block.too_deep", detail)));
        }
        // Do not follow or assemble anything meanwhile, because it would begin at a tip that is rolled back.
        self.following.state = State::Idle;
        self.assemblies.clear();
        self.begin_switch(height, Vec::new(), Cause::Ordered(order));
        Ok(Ok(()))
    }

    fn not_busy(&self) -> Result<(), Rejection> {
        if self.switch.is_some() {
            let detail = "a change of branch or another order is under way";
            return Err(Rejection::new("chain_order.busy", detail));
        }
        Ok(())
    }

    /// Completes an order whose blocks are rolled back. The node then looks for a branch to follow again.
    pub(super) fn rolled_back(
        &mut self,
        order: Order,
        common: u32,
        depth: u32,
    ) -> Result<(), StoreFailure> {
        self.drop_lost_anchors(common)?;
        self.settle_pool()?;
        self.side.trim(&mut self.rows);
        let mut said = format!("{depth} blocks were taken back");
        let ticket = match order {
            Order::PopOff { ticket } => ticket,
            Order::Trust {
                ticket,
                height,
                hash,
            } => {
                self.keep_trusted(height, hash);
                said = format!("{TRUSTED_NOW}; {said}");
                ticket
            }
        };
        self.follow_anew();
        self.done(ticket, Ok(said));
        Ok(())
    }

    /// Forgets everything that kept this node from following a branch.
    fn follow_anew(&mut self) {
        self.stuck = None;
        self.bad.clear();
        self.assemblies.clear();
        self.following.state = State::Idle;
        for (_, peer) in self.peers.iter_mut() {
            peer.cool_until_ms = 0;
            peer.failures = 0;
        }
        self.tell_where_we_stand();
    }

    pub(super) fn clear_pool(&mut self, ticket: Ticket) -> Result<(), StoreFailure> {
        if self.switch.as_ref().is_some_and(Switch::is_resumption)
            && let Err(rejection) = self.not_busy()
        {
            self.done(ticket, Err(rejection));
            return Ok(());
        }
        self.settle_intake()?;
        let count = self.pool.figures().transactions;
        self.pool.clear();
        self.anew.clear();
        self.actions.push(Action::Done {
            ticket,
            outcome: Ok(format!("{count} transactions left the pool")),
        });
        Ok(())
    }

    pub(super) fn trust(
        &mut self,
        ticket: Ticket,
        height: u32,
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
        height: u32,
        hash: Hash,
        order: Order,
    ) -> Result<Result<Option<String>, Rejection>, StoreFailure> {
        if self.trusted.len() >= TRUSTED_MAX || height == 0 {
            let detail = format!("height {height}; at most {TRUSTED_MAX} blocks above genesis");
            return Ok(Err(Rejection::new("chain_order.no_such_block", detail)));
        }
        if let Err(rejection) = self.not_busy() {
            return Ok(Err(rejection));
        }
        if height <= self.rows.tip().height && self.hash_at(height)? != Some(hash) {
            let begun = self.roll_back(height - 1, order)?;
            return Ok(begun.map(|()| None));
        }
        self.keep_trusted(height, hash);
        self.follow_anew();
        Ok(Ok(Some(TRUSTED_NOW.to_owned())))
    }

    fn keep_trusted(&mut self, height: u32, hash: Hash) {
        self.trusted.insert(height, hash);
        let mut value = Vec::with_capacity(self.trusted.len() * 36);
        for (height, hash) in &self.trusted {
            value.extend_from_slice(&height.to_be_bytes());
            value.extend_from_slice(hash.as_bytes());
        }
        self.rows.put(Table::Meta, TRUSTED, value);
    }

    /// Compares the trusted blocks with the stored chain.
    ///
    /// # Errors
    /// `chain.checkpoint_mismatch`, naming the first height that differs.
    pub(super) fn check_trusted(&self) -> Result<(), Fault> {
        for (height, trusted) in &self.trusted {
            if *height > self.rows.tip().height {
                return Ok(());
            }
            let stored = match height {
                0 => Some(self.genesis.hash),
                _ => self.hash_at(*height)?,
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

    /// Reads the blocks that were trusted before. The settings' own take precedence.
    pub(super) fn restore_trusted(&mut self) -> Result<(), StoreFailure> {
        let Some(value) = self.rows.get(Table::Meta, TRUSTED)? else {
            return Ok(());
        };
        let (rows, left) = value.as_chunks::<36>();
        if !left.is_empty() {
            return Err(crate::port::damaged(
                "the trusted blocks have a wrong length",
            ));
        }
        for row in rows.iter().take(TRUSTED_MAX) {
            let (mut height, mut hash) = ([0; 4], [0; 32]);
            height.copy_from_slice(&row[..4]);
            hash.copy_from_slice(&row[4..]);
            self.trusted
                .entry(u32::from_be_bytes(height))
                .or_insert(Hash::from_bytes(hash));
        }
        Ok(())
    }
}
