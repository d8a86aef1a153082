//! Rows that are not yet durable, layered over the durable ones.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;

use primitives::Hash;

use super::held::HeldCache;
use super::recent::{BalanceCache, RecentIds};
use super::window::{BlockSummary, Window};
use super::{Fault, Point, rows};
use crate::genesis::write_genesis;
use crate::port::{Reads, Row, StoreFailure, Table, WriteBatch, damaged};
use crate::{AccountId, BlockTimestamp, ChainId, Genesis, Height, MinorUnits, TxId};
use primitives::storage::TableSet;

/// Pending rows of one table: the new value, or `None` for a deleted row.
type Rows = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

/// The writes of one batch.
#[derive(Debug)]
struct Layer {
    tables: Vec<Rows>,
}

impl Layer {
    fn new() -> Self {
        Self {
            tables: Table::ALL.iter().map(|_| Rows::new()).collect(),
        }
    }

    fn table(&self, table: Table) -> &Rows {
        &self.tables[table as usize]
    }
}

/// The state after all applied changes, durable or not.
///
/// A written row can be read at once. [`Overlay::take_batch`] returns the new changes as one batch. [`Overlay::committed`] marks
/// the oldest batch as durable, and its rows are read from the store afterwards.
///
/// Bounded caches hold the data that blocks and pools read most: the tip, the last blocks' hashes, recent ids and balances.
#[derive(Debug)]
pub struct Overlay<R> {
    reads: R,
    fresh: Layer,
    /// Batches that are not yet durable, oldest first.
    in_flight: VecDeque<Layer>,
    balances: RefCell<BalanceCache>,
    held: RefCell<HeldCache>,
    pub(super) recent: RecentIds,
    pub(super) window: Window,
    pub(super) tip: Point,
    genesis: Hash,
}

impl<R: Reads<Table>> Overlay<R> {
    /// Returns a plain layer over a store, without a known tip.
    pub(super) fn bare(reads: R, genesis: &Genesis) -> Self {
        Self {
            reads,
            fresh: Layer::new(),
            in_flight: VecDeque::new(),
            balances: RefCell::default(),
            held: RefCell::new(HeldCache::new(0)),
            recent: RecentIds::default(),
            window: Window::new(Height::FIRST),
            tip: Point::genesis(genesis),
            genesis: genesis.hash,
        }
    }

    /// Opens a store. The first batch of an empty store contains the rows of the genesis.
    pub fn open(reads: R, genesis: &Genesis) -> Result<Self, Fault> {
        let params = &genesis.params;
        // A depth beyond the range keeps the whole chain.
        let depth = params
            .effective_age_blocks
            .saturating_add(params.rollback_blocks_max);
        let mut overlay = Self {
            held: RefCell::new(HeldCache::new(depth)),
            ..Self::bare(reads, genesis)
        };
        let Some(stored) = overlay.get(Table::Meta, rows::META_GENESIS)? else {
            if overlay.get(Table::Meta, rows::META_TIP)?.is_some() {
                return Err(damaged("the store has blocks but no genesis").into());
            }
            for write in write_genesis(genesis).writes {
                overlay.write(write.table, write.key, write.value);
            }
            overlay.recent.start(BlockTimestamp::GENESIS);
            return Ok(overlay);
        };
        let version = overlay.get(Table::Meta, rows::META_VERSION)?;
        if version.as_deref() != Some(&rows::SCHEMA_VERSION.to_be_bytes()) {
            return Err(damaged(format!(
                "the tables' layout has an unknown version, {version:?}"
            ))
            .into());
        }
        if stored != genesis.to_bytes() {
            return Err(Fault::refused(
                "chain.wrong_network",
                format!("the given genesis has hash {}", genesis.hash),
            ));
        }
        overlay.load_tip(genesis)?;
        Ok(overlay)
    }

    fn load_tip(&mut self, genesis: &Genesis) -> Result<(), StoreFailure> {
        let stored = self.get(Table::Meta, rows::META_TIP)?;
        let stored = stored.ok_or_else(|| damaged("the row of the tip is missing"))?;
        let (height, hash) = rows::read_tip(&stored)?;
        // A young chain is kept from block 1 on.
        let first = height
            .minus_or_genesis(Window::BLOCKS_MAX as u32 - 1)
            .max(Height::FIRST);
        self.window = Window::new(first);
        // The stored height is unchecked. No header is at the last height.
        let to = height.plus_or_last(1);
        let headers = self.scan(
            Table::Headers,
            &first.to_be_bytes(),
            Some(&to.to_be_bytes()),
            Window::BLOCKS_MAX,
        )?;
        for (key, value) in headers {
            let row = rows::HeaderRow::read(&value)?;
            if rows::read_height(&key)? != row.header.height {
                return Err(damaged("a header is stored at a wrong height"));
            }
            self.window
                .push(row.header.height, BlockSummary::of(&row))?;
            self.tip = Point::of(&row.header, row.hash);
        }
        if (self.tip.height, self.tip.hash) != (height, hash) {
            return Err(damaged(format!(
                "the tip is at {height}, the last header at {}",
                self.tip.height
            )));
        }
        // Ids of earlier blocks are looked up in the store. Later ones are remembered.
        // No id is later than the last second.
        let latest = self
            .tip
            .time
            .plus_or_last(genesis.params.clock_drift_seconds);
        self.recent
            .start(latest.next().unwrap_or(BlockTimestamp::LAST));
        Ok(())
    }

    /// Returns the last block, as the point before the next one.
    #[must_use]
    pub fn tip(&self) -> &Point {
        &self.tip
    }

    /// Returns the underlying store.
    pub fn store(&self) -> &R {
        &self.reads
    }

    /// Puts a row.
    pub fn put(&mut self, table: Table, key: impl Into<Vec<u8>>, value: impl Into<Vec<u8>>) {
        self.write(table, key.into(), Some(value.into()));
    }

    /// Deletes a row.
    pub fn delete(&mut self, table: Table, key: impl Into<Vec<u8>>) {
        self.write(table, key.into(), None);
    }

    pub(super) fn write(&mut self, table: Table, key: Vec<u8>, value: Option<Vec<u8>>) {
        if table == Table::Balances {
            self.balances.get_mut().forget(&key);
        }
        if table == Table::Held {
            self.held.get_mut().wrote(&key, value.as_deref());
        }
        self.fresh.tables[table as usize].insert(key, value);
    }

    /// Sets a balance. A zero balance has no row.
    pub(super) fn set_balance(&mut self, account: &AccountId, chain: ChainId, balance: MinorUnits) {
        let key = rows::balance_key(account, chain);
        let value = (!balance.is_zero()).then(|| balance.to_be_bytes().to_vec());
        self.write(Table::Balances, key.to_vec(), value);
        self.balances.get_mut().keep(key, balance);
    }

    /// Returns an account's balance on a chain.
    pub fn balance(&self, account: &AccountId, chain: ChainId) -> Result<MinorUnits, StoreFailure> {
        let key = rows::balance_key(account, chain);
        if let Some(balance) = self.balances.borrow_mut().find(&key) {
            return Ok(balance);
        }
        let value = self.get(Table::Balances, &key)?;
        let balance = match value {
            Some(value) => rows::read_minor_units(&value)?,
            None => MinorUnits::ZERO,
        };
        self.balances.borrow_mut().keep(key, balance);
        Ok(balance)
    }

    /// Returns the lowest balance of an account on the parent chain at the ends of the heights `lowest..=highest`.
    pub(super) fn held_least(
        &self,
        account: &AccountId,
        lowest: Height,
        highest: Height,
    ) -> Result<MinorUnits, StoreFailure> {
        let mut held = self.held.borrow_mut();
        held.least(self, account, lowest, highest)
    }

    /// Returns whether a block of this branch includes the transaction. Recent ids are answered from memory.
    pub fn contains(&self, id: &TxId) -> Result<bool, StoreFailure> {
        Ok(self.recent.may_hold(id) && self.get(Table::TxIndex, &id.0)?.is_some())
    }

    /// Returns the hash of the block at a height of this branch. Genesis has height 0.
    pub fn hash_at(&self, height: Height) -> Result<Option<Hash>, StoreFailure> {
        if height.is_genesis() {
            return Ok(Some(self.genesis));
        }
        if let Some(seen) = self.window.get(height) {
            return Ok(Some(seen.hash));
        }
        Ok(self.header_row(height)?.map(|row| row.hash))
    }

    /// Returns the time of the block at a height of this branch. Genesis has height 0.
    pub fn time_at(&self, height: Height) -> Result<Option<BlockTimestamp>, StoreFailure> {
        if height.is_genesis() {
            return Ok(Some(BlockTimestamp::GENESIS));
        }
        if let Some(seen) = self.window.get(height) {
            return Ok(Some(seen.time));
        }
        Ok(self.header_row(height)?.map(|row| row.header.time))
    }

    pub(super) fn header_row(
        &self,
        height: Height,
    ) -> Result<Option<rows::HeaderRow>, StoreFailure> {
        super::read::header(self, height)
    }

    /// Takes the changes since the last batch as one batch.
    pub fn take_batch(&mut self) -> WriteBatch {
        let layer = std::mem::replace(&mut self.fresh, Layer::new());
        let mut batch = WriteBatch::default();
        for (table, rows) in Table::ALL.iter().zip(&layer.tables) {
            for (key, value) in rows {
                match value {
                    Some(value) => batch.put(*table, key.clone(), value.clone()),
                    None => batch.delete(*table, key.clone()),
                }
            }
        }
        self.in_flight.push_back(layer);
        batch
    }

    /// Marks the oldest batch as durable, even if it is empty. Its rows are read from the store afterwards.
    pub fn committed(&mut self) {
        self.in_flight.pop_front();
    }

    /// Returns the number of batches that are not yet durable.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.in_flight.len()
    }

    /// Returns whether there are no changes since the last batch.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.fresh.tables.iter().all(BTreeMap::is_empty)
    }

    /// Returns the layers, the newest first.
    fn layers(&self) -> impl Iterator<Item = &Layer> {
        std::iter::once(&self.fresh).chain(self.in_flight.iter().rev())
    }
}

impl<R: Reads<Table>> Reads<Table> for Overlay<R> {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, StoreFailure> {
        for layer in self.layers() {
            if let Some(value) = layer.table(table).get(key) {
                return Ok(value.clone());
            }
        }
        self.reads.get(table, key)
    }

    fn scan(
        &self,
        table: Table,
        from: &[u8],
        to: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<Row>, StoreFailure> {
        let mut found = Vec::new();
        let mut from = from.to_vec();
        while found.len() < limit && to.is_none_or(|to| from.as_slice() < to) {
            let stored = self.reads.scan(table, &from, to, limit)?;
            // The store's rows are known up to the last row of a full page. The next page shows the rows beyond.
            let page_end = match stored.last() {
                Some((key, _)) if stored.len() == limit => Some(key.clone()),
                _ => None,
            };
            let upper = match (&page_end, to) {
                (Some(last), _) => Bound::Included(last.as_slice()),
                (None, Some(to)) => Bound::Excluded(to),
                (None, None) => Bound::Unbounded,
            };
            let mut newer: BTreeMap<&[u8], &Option<Vec<u8>>> = BTreeMap::new();
            for layer in self.layers() {
                let range = (Bound::Included(from.as_slice()), upper);
                for (key, value) in layer.table(table).range::<[u8], _>(range) {
                    newer.entry(key).or_insert(value);
                }
            }
            merge(stored, newer, limit, &mut found);
            match page_end {
                Some(mut last) => {
                    last.push(0);
                    from = last;
                }
                None => break,
            }
        }
        Ok(found)
    }

    fn last(&self, table: Table) -> Result<Option<Row>, StoreFailure> {
        let stored = self.reads.last(table)?;
        let mut newer: BTreeMap<&[u8], &Option<Vec<u8>>> = BTreeMap::new();
        for layer in self.layers() {
            for (key, value) in layer.table(table) {
                newer.entry(key).or_insert(value);
            }
        }
        for (key, value) in newer.iter().rev() {
            match (&stored, value) {
                (Some((last, _)), _) if last.as_slice() > *key => return Ok(stored),
                (_, Some(value)) => return Ok(Some((key.to_vec(), value.clone()))),
                // The store's own last row is deleted. Scan all rows, which happens only with small tables.
                (Some((last, _)), None) if last == key => {
                    return Ok(self.scan(table, &[], None, usize::MAX)?.pop());
                }
                (_, None) => {}
            }
        }
        Ok(stored)
    }
}

/// Allows an overlay over an overlay. The upper one exists in memory only.
impl<R: Reads<Table>> Reads<Table> for &Overlay<R> {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, StoreFailure> {
        (**self).get(table, key)
    }

    fn scan(
        &self,
        table: Table,
        from: &[u8],
        to: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<Row>, StoreFailure> {
        (**self).scan(table, from, to, limit)
    }

    fn last(&self, table: Table) -> Result<Option<Row>, StoreFailure> {
        (**self).last(table)
    }
}

/// Merges both sets of rows into `found`, up to `limit`. Newer rows take precedence.
fn merge(
    stored: Vec<Row>,
    newer: BTreeMap<&[u8], &Option<Vec<u8>>>,
    limit: usize,
    found: &mut Vec<Row>,
) {
    let mut newer = newer.into_iter().peekable();
    let mut stored = stored.into_iter().peekable();
    while found.len() < limit {
        let take_newer = match (newer.peek(), stored.peek()) {
            (Some((key, _)), Some((other, _))) => *key <= other.as_slice(),
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (None, None) => return,
        };
        if !take_newer {
            found.extend(stored.next());
            continue;
        }
        if let Some((key, value)) = newer.next() {
            stored.next_if(|(other, _)| other.as_slice() == key);
            found.extend(value.clone().map(|value| (key.to_vec(), value)));
        }
    }
}
