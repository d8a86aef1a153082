//! Applies the newest blocks again in memory and compares the result with the stored rows.
//!
//! ```text
//!  all blocks stored, and few ──► applied from genesis on: the blocks determine every row
//!  otherwise ──► undone by undo rows and applied again: supply, held balances and lease links decide a contradiction,
//!                or else the store is beyond repair
//! ```

use std::collections::BTreeMap;

use primitives::storage::TableSet;

use super::examine::{Depth, Examination, PAGE};
use super::hash::horizon;
use super::rows;
use super::undo::carried_block;
use super::verify::verify_state;
use super::{BlockFault, Fault, MemoryStore, Overlay, apply_block, undo_block};
use crate::block::CheckedBlock;
use crate::port::{FailureKind, Reads, StoreFailure, Table, WriteBatch, damaged};
use crate::{AccountId, Height};

/// Maximum number of transactions of blocks that are applied again, because they are all in memory at once.
const REPLAYED_TRANSACTIONS_MAX: u64 = 50_000;

/// Held balances of an account on the parent chain, by height.
type HeldRows = BTreeMap<Height, Vec<u8>>;

impl<R: Reads<Table>> Examination<'_, R> {
    /// Applies blocks again and repairs the rows that differ. Uses all blocks if every one is stored and they have few
    /// transactions, otherwise the newest.
    ///
    /// # Errors
    /// A complete block does not apply. It has applied before, so the rows below it are wrong, and cutting it off would leave
    /// them wrong.
    pub(super) fn apply_again(&mut self, top: Height, depth: Depth) -> Result<(), StoreFailure> {
        let whole = self.found.blocks == self.found.height.get() && self.pruned.bodies.is_genesis();
        if whole && self.found.transactions <= REPLAYED_TRANSACTIONS_MAX {
            return self.rebuild(top);
        }
        if let Some(height) = self.not_undone {
            self.give_up_undo(height);
        }
        self.replay(top, depth)
    }

    /// Applies all blocks to an empty store. Every row then follows from genesis and the blocks.
    fn rebuild(&mut self, top: Height) -> Result<(), StoreFailure> {
        let mut fresh = Overlay::open(MemoryStore::new(), self.genesis).map_err(failure)?;
        for height in Height::FIRST.through(top) {
            let block = carried_block(&self.patch, self.genesis, height)?
                .ok_or_else(|| damaged(format!("block {height} is missing")))?;
            // Only checked blocks are stored.
            join(&mut fresh, self, &CheckedBlock::from_store(block))?;
        }
        self.found.replayed = top.get();
        let batch = fresh.take_batch();
        drop(fresh);
        let before = self.found.damaged;
        let held = self.compare(&batch)?;
        self.compare_held(held, horizon(self.genesis, top))?;
        self.drop_unexplained_rows(&batch)?;
        self.report_rewritten(before, top.get());
        Ok(())
    }

    /// Undoes the newest blocks by their undo rows and applies them again.
    fn replay(&mut self, top: Height, depth: Depth) -> Result<(), StoreFailure> {
        let floor = self.pruned.undo.max(self.pruned.bodies);
        // Blocks up to the floor cannot be undone.
        let undoable = top.blocks_since(floor).unwrap_or(0);
        let blocks_max = undoable.min(depth.blocks);
        let transactions_max = depth.transactions.min(REPLAYED_TRANSACTIONS_MAX);
        let mut scratch = Overlay::open(&self.patch, self.genesis).map_err(failure)?;
        let (mut blocks, mut transactions) = (Vec::new(), 0);
        while (blocks.len() as u32) < blocks_max
            && (blocks.is_empty() || transactions < transactions_max)
        {
            let block = undo_block(&mut scratch, self.genesis).map_err(failure)?;
            transactions += block.transactions().count() as u64;
            blocks.push(block);
        }
        self.found.replayed = blocks.len() as u32;
        for block in blocks.iter().rev() {
            join(&mut scratch, self, block)?;
        }
        let batch = scratch.take_batch();
        drop(scratch);
        let before = self.found.damaged;
        self.check_undecided(&batch)?;
        let held = self.compare(&batch)?;
        for (account, rows) in held {
            for (height, value) in rows {
                self.expect_again(Table::Held, &rows::held_key(&account, height), Some(&value))?;
            }
        }
        self.report_rewritten(before, self.found.replayed);
        Ok(())
    }

    /// Fails if stored balances or leases contradict the undo rows although both are consistent. Each explains the blocks, and
    /// one is wrong.
    fn check_undecided(&mut self, batch: &WriteBatch) -> Result<(), StoreFailure> {
        let mut differs = false;
        for write in &batch.writes {
            differs |= rows::is_state(write.table)
                && self.patch.get(write.table, &write.key)? != write.value;
        }
        if !differs {
            return Ok(());
        }
        match verify_state(&self.patch, self.genesis) {
            Ok(()) => {
                let text = "balances or leases contradict the undo rows of the newest blocks, and no other row decides which are right";
                self.damage(text.into());
                Err(damaged(text))
            }
            Err(fault) if fault.kind == FailureKind::Damage => Ok(()),
            Err(fault) => Err(fault),
        }
    }

    /// Compares the rows of blocks that were applied again, except for held balances. Returns those by account.
    fn compare(
        &mut self,
        batch: &WriteBatch,
    ) -> Result<BTreeMap<AccountId, HeldRows>, StoreFailure> {
        let mut held: BTreeMap<AccountId, HeldRows> = BTreeMap::new();
        for write in &batch.writes {
            let value = write.value.as_deref();
            match (write.table, value) {
                (Table::Held, Some(value)) => {
                    let (account, height) = rows::read_held_key(&write.key)?;
                    held.entry(account)
                        .or_default()
                        .insert(height, value.to_vec());
                }
                (Table::Undo, _) if rows::read_height(&write.key)? <= self.pruned.undo => {}
                (table, value) => self.expect_again(table, &write.key, value)?,
            }
        }
        Ok(held)
    }

    /// Compares the held balances that count with those computed from genesis: those above the horizon, and for each account the
    /// newest at or below it. Pruning may have dropped the others.
    fn compare_held(
        &mut self,
        held: BTreeMap<AccountId, HeldRows>,
        horizon: Height,
    ) -> Result<(), StoreFailure> {
        let mut stored: BTreeMap<AccountId, HeldRows> = BTreeMap::new();
        let mut from = Vec::new();
        loop {
            let page = self.patch.scan(Table::Held, &from, None, PAGE)?;
            for (key, value) in &page {
                let (account, height) = rows::read_held_key(key)?;
                stored
                    .entry(account)
                    .or_default()
                    .insert(height, value.clone());
            }
            match page.last() {
                Some((last, _)) if page.len() == PAGE => from = [last, &[0][..]].concat(),
                _ => break,
            }
        }
        let accounts: Vec<AccountId> = held.keys().chain(stored.keys()).copied().collect();
        let nothing = HeldRows::new();
        for account in accounts {
            // An account without rows has none.
            let right = held.get(&account).unwrap_or(&nothing);
            let found = stored.get(&account).unwrap_or(&nothing);
            for height in counting(right, horizon).chain(counting(found, horizon)) {
                let value = match right.get(&height) {
                    // A zero balance is equivalent to no row, unless an older row would take its place.
                    Some(value) if height <= horizon && !found.contains_key(&height) => {
                        let older = found.range(..height).next().is_some();
                        (older || !rows::read_minor_units(value)?.is_zero()).then_some(value)
                    }
                    value => value,
                };
                let key = rows::held_key(&account, height);
                self.expect_again(Table::Held, &key, value.map(Vec::as_slice))?;
            }
        }
        Ok(())
    }

    /// Drops rows of balances and leases that neither a block nor genesis has written.
    fn drop_unexplained_rows(&mut self, batch: &WriteBatch) -> Result<(), StoreFailure> {
        let made: BTreeMap<(Table, &[u8]), bool> = batch
            .writes
            .iter()
            .map(|write| ((write.table, &write.key[..]), write.value.is_some()))
            .collect();
        for table in rows::STATE {
            let mut from = Vec::new();
            loop {
                let page = self.patch.scan(table, &from, None, PAGE)?;
                for (key, _) in &page {
                    if !made.contains_key(&(table, &key[..])) {
                        self.expect_again(table, key, None)?;
                    }
                }
                match page.last() {
                    Some((last, _)) if page.len() == PAGE => from = [last, &[0][..]].concat(),
                    _ => break,
                }
            }
        }
        Ok(())
    }

    fn expect_again(
        &mut self,
        table: Table,
        key: &[u8],
        value: Option<&[u8]>,
    ) -> Result<(), StoreFailure> {
        let replayed = self.found.replayed;
        self.expect(table, key, value, || {
            let key = primitives::hex::encode(key);
            format!(
                "row {key} of table {} changes if the last {replayed} blocks are applied again",
                table.name()
            )
        })
    }

    fn report_rewritten(&mut self, before: u64, blocks: u32) {
        let differ = self.found.damaged - before;
        if differ > 0 {
            let rows = match differ {
                1 => "1 row was".to_owned(),
                differ => format!("{differ} rows were"),
            };
            let text = format!("{rows} rewritten, of those that the last {blocks} blocks touched");
            self.did.push(text);
        }
    }
}

/// Returns the heights above the horizon, and the newest at or below it.
fn counting(rows: &HeldRows, horizon: Height) -> impl Iterator<Item = Height> {
    let oldest = rows
        .range(..=horizon)
        .next_back()
        .map_or(Height::GENESIS, |(height, _)| *height);
    rows.range(oldest..).map(|(height, _)| *height)
}

/// Applies a complete block.
fn join<S: Reads<Table>, R: Reads<Table>>(
    overlay: &mut Overlay<S>,
    examination: &Examination<'_, R>,
    block: &CheckedBlock,
) -> Result<(), StoreFailure> {
    match apply_block(overlay, examination.genesis, block) {
        Ok(_) => Ok(()),
        Err(BlockFault::Store(failure)) if failure.kind != FailureKind::Damage => Err(failure),
        Err(fault) => {
            let height = block.header.height;
            Err(damaged(format!(
                "block {height} cannot be applied again: {fault}"
            )))
        }
    }
}

fn failure(fault: Fault) -> StoreFailure {
    fault.rejection().map_or_else(
        |failure| failure,
        |rejection| damaged(rejection.to_string()),
    )
}
