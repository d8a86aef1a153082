//! An operator's order to delete the bodies of old blocks, done in small parts over several rounds.

use super::OrderDone;
use crate::core::limits::PRUNE_ROUND_ROWS;
use crate::core::{Core, Ticket};
use crate::port::{Reads, StoreFailure, Table};
use crate::state::{Pruned, prunable, prune};

impl<R: Reads<Table>> Core<R> {
    pub(in crate::core) fn prune_bodies(
        &mut self,
        ticket: Ticket,
        keep: u32,
    ) -> Result<(), StoreFailure> {
        let until = prunable(&self.rows, &self.genesis, keep)?;
        let pruned = Pruned::load(&self.rows)?.bodies;
        // Without a difference, all bodies up to `until` are gone already, or all are still needed.
        let blocks = until.blocks_since(pruned).unwrap_or(0);
        if blocks > 0 {
            self.pruning = Some(until);
        }
        self.done(ticket, Ok(OrderDone::PruneBegun { blocks, until }));
        Ok(())
    }

    /// Continues the ordered pruning.
    pub(in crate::core) fn continue_pruning(&mut self) -> Result<(), StoreFailure> {
        let Some(until) = self.pruning else {
            return Ok(());
        };
        // A rollback may have passed `until`. The rollback limit then bounds the deletion.
        let kept = self.rows.tip().height.blocks_since(until).unwrap_or(0);
        let before = Pruned::load(&self.rows)?.bodies;
        let after = prune(&mut self.rows, &self.genesis, Some(kept), PRUNE_ROUND_ROWS)?.bodies;
        if after >= until || after == before {
            self.pruning = None;
        } else {
            self.more = true;
        }
        Ok(())
    }
}
