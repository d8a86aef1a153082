//! Removal of blocks from the end of a damaged chain, down to the last complete one.

use super::apply::account_places;
use super::examine::{Examination, PAGE};
use super::rows::{self, Place};
use super::undo::{carried_block, on_parent};
use super::{check_shape, read};
use crate::Height;
use crate::block::CarriedBlock;
use crate::core::limits::{SIDE_BLOCKS_MAX, SIDE_BYTES_MAX};
use crate::port::{FailureKind, Reads, StoreFailure, Table, damaged};
use crate::transaction::Body;

impl<R: Reads<Table>> Examination<'_, R> {
    /// Marks blocks up to a height as impossible to undo.
    pub(super) fn give_up_undo(&mut self, height: Height) {
        for old in self.pruned.undo.above_through(height) {
            self.patch.delete(Table::Undo, old.to_be_bytes());
        }
        self.pruned.undo = height;
        let value = self.pruned.to_bytes();
        self.patch.put(Table::Meta, rows::META_PRUNED, value);
        let text = format!("blocks up to {height} can no longer be rolled back");
        self.did.push(text);
    }

    /// Undoes blocks by their undo rows alone, because their bodies may be lost. Readable blocks become side blocks, their
    /// transactions go to the pool's table, and both join again when the node starts.
    pub(super) fn cut_off(&mut self, top: Height, to: Height) -> Result<(), StoreFailure> {
        let undone = top
            .blocks_since(to)
            .expect("the last complete block is below the lost one");
        let (mut blocks, mut bytes, mut unread) = (0, 0, false);
        for height in to.above_through(top).rev() {
            let undo = self.patch.get(Table::Undo, &height.to_be_bytes())?;
            let undo =
                undo.ok_or_else(|| damaged(format!("block {height} cannot be rolled back")))?;
            let former = rows::read_undo(&undo)?;
            let block = self.readable(height)?;
            if let Ok(Some(row)) = read::header(&self.patch, height) {
                self.mend(Table::ByHash, row.hash.as_bytes().to_vec(), None)?;
            }
            match &block {
                Some(block) => {
                    self.drop_indexes(block)?;
                    bytes += block.header.body_bytes as usize;
                    blocks += 1;
                    if blocks <= SIDE_BLOCKS_MAX && bytes <= SIDE_BYTES_MAX {
                        self.keep_as_side_block(block)?;
                    }
                }
                None => unread = true,
            }
            for (table, key, value) in former.into_iter().rev() {
                if let Some(account) = on_parent(table, &key) {
                    let held = rows::held_key(&account, height).to_vec();
                    self.mend(Table::Held, held, None)?;
                }
                self.mend(table, key, value)?;
            }
            self.mend(Table::Headers, height.to_be_bytes().to_vec(), None)?;
            self.mend(Table::Undo, height.to_be_bytes().to_vec(), None)?;
        }
        self.drop_bodies(to)?;
        self.drop_rows_above(to, unread)?;
        let hash = match to {
            Height::GENESIS => self.genesis.hash,
            to => {
                let row = read::header(&self.patch, to)?;
                row.ok_or_else(|| damaged(format!("block {to}: the header is missing")))?
                    .hash
            }
        };
        let tip = rows::tip_value(to, &hash);
        self.mend(Table::Meta, rows::META_TIP.to_vec(), Some(tip))?;
        let blocks = match undone {
            1 => "1 block was".to_owned(),
            undone => format!("{undone} blocks were"),
        };
        let text = format!("{blocks} rolled back, to block {to}");
        self.did.push(text);
        Ok(())
    }

    /// Returns a block if it is readable and valid in form.
    fn readable(&self, height: Height) -> Result<Option<CarriedBlock>, StoreFailure> {
        match carried_block(&self.patch, self.genesis, height) {
            Ok(Some(block))
                if check_shape(self.genesis, &block).is_ok()
                    && block.header.hash(&self.genesis.hash) == block.hash =>
            {
                Ok(Some(block))
            }
            Ok(_) => Ok(None),
            Err(failure) if failure.kind == FailureKind::Damage => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    fn drop_indexes(&mut self, block: &CarriedBlock) -> Result<(), StoreFailure> {
        for carried in block.transactions() {
            self.mend(Table::TxIndex, carried.id.0.to_vec(), None)?;
        }
        for account in account_places(block).into_keys() {
            let key = rows::held_key(&account, block.header.height).to_vec();
            self.mend(Table::AccountTxs, key, None)?;
        }
        Ok(())
    }

    fn keep_as_side_block(&mut self, block: &CarriedBlock) -> Result<(), StoreFailure> {
        let mut value = block.header.to_bytes().to_vec();
        value.extend_from_slice(&block.body_bytes());
        self.mend(Table::Side, block.hash.as_bytes().to_vec(), Some(value))?;
        for carried in block.transactions() {
            if !matches!(carried.transaction.body, Body::ChildBlock { .. }) {
                let bytes = carried.transaction.to_bytes();
                self.mend(Table::Pool, carried.id.0.to_vec(), Some(bytes))?;
            }
        }
        Ok(())
    }

    fn drop_bodies(&mut self, to: Height) -> Result<(), StoreFailure> {
        // No block is above the last height.
        let from = rows::body_key(to.plus_or_last(1), 0);
        loop {
            // Pieces are large.
            let page = self.patch.scan(Table::Bodies, &from, None, 64)?;
            if page.is_empty() {
                return Ok(());
            }
            for (key, _) in page {
                self.mend(Table::Bodies, key, None)?;
            }
        }
    }

    /// Drops the rows of blocks above `to`. An undo row with a wrong key leaves a held balance behind, so that table is always
    /// scanned. The indexes are scanned only if a body was `unread`, because otherwise the body has named their rows.
    fn drop_rows_above(&mut self, to: Height, unread: bool) -> Result<(), StoreFailure> {
        type HeightOf = fn(&[u8], &[u8]) -> Result<Height, StoreFailure>;
        let tables: [(Table, HeightOf); 4] = [
            (Table::Held, |key, _| Ok(rows::read_held_key(key)?.1)),
            (Table::ByHash, |_, value| rows::read_height(value)),
            (Table::TxIndex, |_, value| Ok(Place::read(value)?.height)),
            (Table::AccountTxs, |key, _| Ok(rows::read_held_key(key)?.1)),
        ];
        let walked = if unread { tables.len() } else { 1 };
        for (table, height_of) in tables.into_iter().take(walked) {
            let mut from = Vec::new();
            loop {
                let page = self.patch.scan(table, &from, None, PAGE)?;
                for (key, value) in &page {
                    if height_of(key, value)? > to {
                        self.mend(table, key.clone(), None)?;
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
}
