//! Operators' orders. An order that rolls blocks back is a reorg to an empty branch.

use super::order::Order;
use super::order_done::OrderDone;
use crate::core::fork_choice::{Reorg, ReorgCause};
use crate::core::sync::SyncStage;
use crate::core::{Action, Core, Ticket};
use crate::port::{Reads, StoreFailure, Table};
use crate::{ChainTime, Height, Rejection};

impl<R: Reads<Table>> Core<R> {
    pub(in crate::core) fn pop_off(
        &mut self,
        ticket: Ticket,
        height: Height,
    ) -> Result<(), StoreFailure> {
        if let Err(rejection) = self.roll_back(height, Order::PopOff { ticket })? {
            self.done(ticket, Err(rejection));
        }
        Ok(())
    }

    pub(super) fn done(&mut self, ticket: Ticket, outcome: Result<OrderDone, Rejection>) {
        self.actions.push(Action::Done { ticket, outcome });
    }

    /// Begins to roll blocks back to a height, regardless of peers' branches, a part in each round. The last round answers the
    /// order. A crash before that leaves a valid chain and an order that is not completed.
    pub(super) fn roll_back(
        &mut self,
        height: Height,
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
        if !self.can_roll_back_to(height)? {
            let detail = format!(
                "block {} can no longer be rolled back",
                height.plus_or_last(1)
            );
            return Ok(Err(Rejection::new("chain_block.too_deep", detail)));
        }
        // Do not follow or assemble anything meanwhile, because it would begin at a tip that is rolled back.
        self.sync.state = SyncStage::Idle;
        self.assemblies.clear();
        self.begin_reorg(height, Vec::new(), ReorgCause::Ordered(order));
        Ok(Ok(()))
    }

    pub(super) fn not_busy(&self) -> Result<(), Rejection> {
        if self.reorg.is_some() {
            let detail = "a reorg or another order is in progress";
            return Err(Rejection::new("chain_order.busy", detail));
        }
        Ok(())
    }

    /// Completes an order whose blocks are rolled back. The node then looks for a better branch again.
    pub(in crate::core) fn rolled_back(
        &mut self,
        order: Order,
        common: Height,
        depth: u32,
    ) -> Result<(), StoreFailure> {
        self.drop_lost_anchors(common)?;
        self.settle_pool()?;
        let (ticket, done) = match order {
            Order::PopOff { ticket } => (ticket, OrderDone::RolledBack { blocks: depth }),
            Order::Trust {
                ticket,
                height,
                hash,
            } => {
                self.keep_trusted(height, hash);
                (ticket, OrderDone::Trusted { rolled_back: depth })
            }
        };
        self.restart_sync();
        self.done(ticket, Ok(done));
        Ok(())
    }

    /// Lifts everything that keeps this node from following a branch: invalid hashes, cool-downs and the report of a deep fork.
    pub(super) fn restart_sync(&mut self) {
        self.deep_fork = None;
        self.invalid.clear();
        self.assemblies.clear();
        self.sync.state = SyncStage::Idle;
        for (_, peer) in self.peers.iter_mut() {
            peer.back_off_until = ChainTime::GENESIS;
            peer.failures = 0;
        }
        self.announce_status();
    }

    pub(in crate::core) fn clear_pool(&mut self, ticket: Ticket) -> Result<(), StoreFailure> {
        if self.reorg.as_ref().is_some_and(Reorg::is_resumption)
            && let Err(rejection) = self.not_busy()
        {
            self.done(ticket, Err(rejection));
            return Ok(());
        }
        self.check_intake()?;
        let transactions = self.pool.figures().transactions as u64;
        self.pool.clear();
        self.regossip.clear();
        self.done(ticket, Ok(OrderDone::PoolCleared { transactions }));
        Ok(())
    }
}
