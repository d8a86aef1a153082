//! Restores a core's state when its store is opened.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use primitives::Hash;

use super::core::Core;
use super::fork_choice::{ReorgBlock, ReorgCause};
use crate::port::{Reads, StoreFailure, Table, damaged};
use crate::state::{BlockContext, Fault, check_transaction};
use crate::transaction::Carried;

/// Rows that are read at once.
const PAGE: usize = 1_024;

impl<R: Reads<Table>> Core<R> {
    /// Puts locally accepted transactions that are in no block back into the pool. Transactions that are no longer valid leave
    /// with their reason.
    fn restore_pool(&mut self) -> Result<(), StoreFailure> {
        let mut from = Vec::new();
        loop {
            let page = self.rows.scan(Table::Pool, &from, None, PAGE)?;
            let full = page.len() == PAGE;
            if let Some((key, _)) = page.last() {
                from.clone_from(key);
                from.push(0);
            }
            for (key, value) in page {
                let wrong = |what: String| damaged(format!("a row of the pool: {what}"));
                let (carried, used) = Carried::read(&self.genesis.hash, &value)
                    .map_err(|rejection| wrong(rejection.to_string()))?;
                if used != value.len() || key != carried.id.0 {
                    return Err(wrong(format!("{} has a wrong key or length", carried.id)));
                }
                self.restore(Arc::new(carried))?;
            }
            if !full {
                break;
            }
        }
        self.settle_pool()?;
        self.record_removals()
    }

    fn restore(&mut self, carried: Arc<Carried>) -> Result<(), StoreFailure> {
        let id = carried.id;
        self.local.restore(id);
        if self.pool.contains(&id) {
            // It was received again while blocks joined.
            return Ok(());
        }
        let now = self.timestamp_now();
        let context = BlockContext {
            time: now,
            height: self.rows.tip().next_height(),
        };
        let refused = match check_transaction(&self.rows, &self.genesis, &carried, context) {
            // Blocks that are not applied again yet may have credited the sender. The transaction waits for them.
            Ok(()) => self.pool.restore(carried, now).err(),
            Err(Fault::InBlock(_)) => {
                self.forget_local(&id);
                return Ok(());
            }
            Err(fault) => Some(fault.rejection()?),
        };
        if let Some(rejection) = refused {
            self.forget_local(&id);
            self.record_removal(&id, rejection.code)?;
        }
        Ok(())
    }

    /// Completes an interrupted reorg. A crash in the middle of a reorg leaves a shorter chain. The side blocks that follow the
    /// tip join again, a part in each round. The pool is restored afterwards, because its transactions may depend on those
    /// blocks.
    pub(super) fn restore_side(&mut self) -> Result<(), StoreFailure> {
        let branch = self.side_after_tip()?;
        if !branch.is_empty() {
            self.begin_reorg(self.rows.tip().height, branch, ReorgCause::Resumed);
            self.more = true;
            return Ok(());
        }
        self.restore_pool()?;
        self.announce_status();
        Ok(())
    }

    /// Returns the best branch of side blocks that begins at the tip.
    fn side_after_tip(&self) -> Result<Vec<ReorgBlock>, StoreFailure> {
        let mut headers = Vec::new();
        for hash in self.side_blocks.hashes() {
            if let Some(header) = self.side_blocks.header(&self.rows, &hash)?
                && !self.is_distrusted(header.height, &hash)
                && header.time <= self.timestamp_now()
            {
                headers.push((header, hash));
            }
        }
        headers.sort_unstable_by_key(|(header, hash)| (header.height, *hash));
        let tip = self.rows.tip().hash;
        let mut previous = HashMap::new();
        let mut best: Option<(u128, Reverse<Hash>)> = None;
        for (header, hash) in headers {
            if header.previous == tip || previous.contains_key(&header.previous) {
                previous.insert(hash, header.previous);
                best = best.max(Some((header.difficulty, Reverse(hash))));
            }
        }
        let mut branch = Vec::new();
        let mut next = best.map(|(_, Reverse(hash))| hash);
        while let Some(hash) = next
            && let Some(before) = previous.get(&hash)
        {
            branch.push(ReorgBlock::Side(hash));
            next = Some(*before);
        }
        branch.reverse();
        Ok(branch)
    }
}
