//! Side blocks, on disk. They are off the main chain: a reorg rolled them back or is about to apply them.

use std::collections::{HashSet, VecDeque};

use primitives::Hash;

use crate::Header;
use crate::block::{CarriedBlock, CheckedBlock, HEADER_BYTES, read_carried_body, read_header};
use crate::core::limits::{SIDE_BLOCKS_MAX, SIDE_BYTES_MAX};
use crate::genesis::Genesis;
use crate::port::{Reads, StoreFailure, Table, damaged};
use crate::state::Overlay;

/// Rows that are read at once when a store is opened.
const PAGE: usize = 64;

/// The index of the blocks in the table `Side`, oldest first.
#[derive(Debug, Default)]
pub(in crate::core) struct SideBlocks {
    order: VecDeque<(Hash, usize)>,
    bytes: usize,
}

impl SideBlocks {
    /// Reads the index from the store.
    pub(in crate::core) fn open<R: Reads<Table>>(rows: &Overlay<R>) -> Result<Self, StoreFailure> {
        let mut side = Self::default();
        let mut from = Vec::new();
        loop {
            let page = rows.scan(Table::Side, &from, None, PAGE)?;
            for (key, value) in &page {
                let hash = key.as_slice().try_into().map(Hash::from_bytes);
                let hash = hash.map_err(|_| damaged("a side block's key is not a hash"))?;
                side.add(hash, value.len());
            }
            match page.last() {
                Some((key, _)) if page.len() == PAGE => {
                    from = key.clone();
                    from.push(0);
                }
                _ => return Ok(side),
            }
        }
    }

    fn add(&mut self, hash: Hash, bytes: usize) {
        self.order.push_back((hash, bytes));
        self.bytes += bytes;
    }

    pub(in crate::core) fn hashes(&self) -> Vec<Hash> {
        self.order.iter().map(|(hash, _)| *hash).collect()
    }

    pub(in crate::core) fn contains(&self, hash: &Hash) -> bool {
        self.order.iter().any(|(held, _)| held == hash)
    }

    /// Stores a block, unless it is stored already.
    pub(in crate::core) fn put<R: Reads<Table>>(
        &mut self,
        rows: &mut Overlay<R>,
        block: &CheckedBlock,
    ) {
        if self.contains(&block.hash) {
            return;
        }
        let mut value = block.header.to_bytes().to_vec();
        value.extend_from_slice(&block.body_bytes());
        self.add(block.hash, value.len());
        rows.put(Table::Side, *block.hash.as_bytes(), value);
    }

    /// Reads a block.
    pub(in crate::core) fn get<R: Reads<Table>>(
        &self,
        rows: &Overlay<R>,
        genesis: &Genesis,
        hash: &Hash,
    ) -> Result<Option<CheckedBlock>, StoreFailure> {
        let Some(value) = rows.get(Table::Side, hash.as_bytes())? else {
            return Ok(None);
        };
        let wrong = |rejection: crate::Rejection| damaged(rejection.to_string());
        let (header, body) = value
            .split_at_checked(HEADER_BYTES)
            .ok_or_else(|| damaged("a side block is cut off"))?;
        let header = read_header(header).map_err(wrong)?;
        if header.hash(&genesis.hash) != *hash {
            return Err(damaged("a side block does not have the hash of its row"));
        }
        // Only checked blocks are stored.
        Ok(Some(CheckedBlock::from_store(CarriedBlock {
            header,
            hash: *hash,
            body: read_carried_body(&genesis.hash, body, genesis.transactions_max())
                .map_err(wrong)?,
        })))
    }

    /// Reads a block's header.
    pub(in crate::core) fn header<R: Reads<Table>>(
        &self,
        rows: &Overlay<R>,
        hash: &Hash,
    ) -> Result<Option<Header>, StoreFailure> {
        let Some(value) = rows.get(Table::Side, hash.as_bytes())? else {
            return Ok(None);
        };
        let header = value.get(..HEADER_BYTES);
        let header = header.ok_or_else(|| damaged("a side block is cut off"))?;
        read_header(header)
            .map(Some)
            .map_err(|rejection| damaged(rejection.to_string()))
    }

    /// Reads an encoded body, for peers that ask.
    pub(in crate::core) fn body<R: Reads<Table>>(
        rows: &Overlay<R>,
        hash: &Hash,
    ) -> Result<Option<Vec<u8>>, StoreFailure> {
        let value = rows.get(Table::Side, hash.as_bytes())?;
        Ok(value.and_then(|mut value| {
            (value.len() >= HEADER_BYTES).then(|| value.split_off(HEADER_BYTES))
        }))
    }

    pub(in crate::core) fn remove<R: Reads<Table>>(&mut self, rows: &mut Overlay<R>, hash: &Hash) {
        if let Some(at) = self.order.iter().position(|(held, _)| held == hash)
            && let Some((_, bytes)) = self.order.remove(at)
        {
            self.bytes -= bytes;
            rows.delete(Table::Side, *hash.as_bytes());
        }
    }

    /// Returns whether there are more blocks or bytes than are kept.
    pub(in crate::core) fn is_over_limits(&self) -> bool {
        self.order.len() > SIDE_BLOCKS_MAX || self.bytes > SIDE_BYTES_MAX
    }

    /// Deletes the oldest blocks beyond the limits, except the needed ones. These count towards the limits.
    pub(in crate::core) fn trim<R: Reads<Table>>(
        &mut self,
        rows: &mut Overlay<R>,
        needed: &HashSet<Hash>,
    ) {
        let mut at = 0;
        while self.is_over_limits()
            && let Some((hash, bytes)) = self.order.get(at).copied()
        {
            if needed.contains(&hash) {
                at += 1;
                continue;
            }
            self.order.remove(at);
            self.bytes -= bytes;
            rows.delete(Table::Side, *hash.as_bytes());
        }
        assert!(
            !self.is_over_limits() || at == self.order.len(),
            "only needed blocks exceed the limits"
        );
    }
}
