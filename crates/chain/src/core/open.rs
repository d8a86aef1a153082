//! What a core takes up again when its store is opened.

use std::sync::Arc;

use super::Core;
use crate::port::{Reads, StoreFailure, Table, damaged};
use crate::state::{Fault, When, check_transaction};
use crate::transaction::Carried;

/// Rows that are read at once.
const PAGE: usize = 1_024;

impl<R: Reads<Table>> Core<R> {
    /// Puts what was accepted here and is in no block into the pool again; what is no longer valid leaves with its reason.
    pub(super) fn restore_pool(&mut self) -> Result<(), StoreFailure> {
        let mut from = Vec::new();
        loop {
            let page = self.rows.scan(Table::Pool, &from, None, PAGE)?;
            let full = page.len() == PAGE;
            if let Some((key, _)) = page.last() {
                from.clone_from(key);
                from.push(0);
            }
            for (key, value) in page {
                let wrong = |what: String| damaged(format!("a transaction of the pool: {what}"));
                let (carried, used) = Carried::read(&self.genesis.hash, &value)
                    .map_err(|rejection| wrong(rejection.to_string()))?;
                if used != value.len() || key != carried.id.0 {
                    return Err(wrong(format!("{} stands elsewhere", carried.id)));
                }
                self.restore(Arc::new(carried))?;
            }
            if !full {
                break;
            }
        }
        self.settle_pool()?;
        self.write_left()
    }

    fn restore(&mut self, carried: Arc<Carried>) -> Result<(), StoreFailure> {
        let id = carried.id;
        self.own.insert(id);
        let now = self.now_seconds();
        let when = When {
            time: now,
            height: self.rows.tip().height.saturating_add(1),
        };
        let refused = match check_transaction(&self.rows, &self.genesis, &carried, when) {
            // Blocks that are not here yet again may have given the sender what it spends: it waits for them.
            Ok(()) => self
                .pool
                .restore(carried, now)
                .err()
                .map(|rejection| rejection.code),
            Err(Fault::Refused(rejection)) => Some(rejection.code),
            Err(Fault::Store(failure)) => return Err(failure),
        };
        match refused {
            None => {}
            // It is in a block: all is well.
            Some("chain_tx.duplicate") => self.forget_own(&id),
            Some(reason) => {
                self.forget_own(&id);
                self.note_left(&id, reason)?;
            }
        }
        Ok(())
    }

    /// A crash in the middle of a change of branch leaves a shorter chain: blocks beside it that follow the tip join it again.
    pub(super) fn restore_side(&mut self) -> Result<(), StoreFailure> {
        let mut waiting = Vec::new();
        for hash in self.side.hashes() {
            if let Some(header) = self.side.header(&self.rows, &hash)? {
                waiting.push((header, hash));
            }
        }
        loop {
            let tip = self.rows.tip().hash;
            let next = waiting
                .iter()
                .filter(|(header, _)| header.previous == tip)
                .max_by_key(|(header, _)| header.difficulty)
                .map(|(_, hash)| *hash);
            let Some(hash) = next else {
                break;
            };
            waiting.retain(|(_, other)| *other != hash);
            let block = self.side.get(&self.rows, &self.genesis, &hash)?;
            self.side.remove(&mut self.rows, &hash);
            if let Some(block) = block {
                self.join(block, false)?;
            }
        }
        self.side.trim(&mut self.rows);
        // Nobody was there to follow what joined again.
        self.actions.clear();
        Ok(())
    }
}
