//! Writes the reasons why transactions leave the pool without a block.

use super::removals::{COUNT, TRIM_STEP, order_key, removal_reason};
use crate::TxId;
use crate::core::limits::REMOVAL_ROWS_MAX;
use crate::core::{Action, Core, Notice};
use crate::port::{Reads, StoreFailure, Table, damaged};

impl<R: Reads<Table>> Core<R> {
    /// Writes why transactions left since the last round, and notifies followers.
    pub(in crate::core) fn record_removals(&mut self) -> Result<(), StoreFailure> {
        let removed = self.pool.take_removals();
        if removed.is_empty() {
            return Ok(());
        }
        for one in removed {
            let id = one.carried.id;
            // It may have returned already, or be in a block.
            if self.pool.contains(&id) || self.is_confirmed(&id)? {
                continue;
            }
            self.forget_local(&id);
            self.record_removal(&id, one.reason)?;
            self.actions.push(Action::Notice(Box::new(Notice::Removed {
                id,
                reason: one.reason,
            })));
        }
        self.trim_removals()?;
        let count = self.removals.count.to_be_bytes();
        self.rows.put(Table::Meta, COUNT, count);
        Ok(())
    }

    pub(in crate::core) fn record_removal(
        &mut self,
        id: &TxId,
        reason: &'static str,
    ) -> Result<(), StoreFailure> {
        let now = self.timestamp_now();
        match removal_reason(&self.rows, id)? {
            Some((before, _)) => self.rows.delete(Table::LeftOrder, order_key(before, id)),
            None => self.removals.count += 1,
        }
        let value = [&now.to_be_bytes()[..], reason.as_bytes()].concat();
        self.rows.put(Table::Left, id.0, value);
        self.rows.put(Table::LeftOrder, order_key(now, id), []);
        Ok(())
    }

    fn trim_removals(&mut self) -> Result<(), StoreFailure> {
        // Up to the limit there is no surplus.
        let surplus = self.removals.count.saturating_sub(REMOVAL_ROWS_MAX);
        let step = surplus.min(TRIM_STEP as u64) as usize;
        if step == 0 {
            return Ok(());
        }
        for (key, _) in self.rows.scan(Table::LeftOrder, &[], None, step)? {
            let id = key
                .get(4..)
                .ok_or_else(|| damaged("a row of the deletion order is cut off"))?;
            self.rows.delete(Table::Left, id);
            self.rows.delete(Table::LeftOrder, key);
            self.removals.count -= 1;
        }
        Ok(())
    }
}
