//! Examines a store's newest blocks for damage and prepares a repair. Runs at every start and on operators' request.
//!
//! ```text
//!   tip ─► walk down: header, links, body, indexes, undo ─► cut off lost blocks  ─► apply blocks again, in memory ─► compare
//!                          │ indexes are rewritten               │ by the undo rows            │ rows that differ are rewritten
//!                          └────────────────── a patch of rows, which is examined again and judged as a whole by `verify_store`
//! ```
//! This module writes no rows to the store. A repair is one batch, and exists only if the whole store is sound with it.

use primitives::Hash;
use primitives::storage::TableSet;

use super::apply::account_places;
use super::rows::{self, Place};
use super::undo::carried_block;
use super::{Overlay, Pruned, check_shape, read, verify_store};
use crate::block::{CarriedBlock, HEADER_BYTES, read_carried_body, read_header};
use crate::port::{FailureKind, Reads, StoreFailure, Table, WriteBatch, damaged};
use crate::transaction::Carried;
use crate::{Genesis, Height};

/// Maximum number of damages that are described. All are counted.
const NAMED_MAX: usize = 20;
/// Maximum number of rows that a repair changes, because it is one batch in memory.
pub(super) const MENDED_ROWS_MAX: usize = 2_000_000;
/// Rows that are read at once.
pub(super) const PAGE: usize = 1_024;

/// The depth of an examination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Depth {
    /// Maximum number of blocks below the tip.
    pub blocks: u32,
    /// Number of transactions after which no further block is examined.
    pub transactions: u64,
}

impl Depth {
    /// The whole store.
    pub const ALL: Self = Self {
        blocks: u32::MAX,
        transactions: u64::MAX,
    };
}

/// The findings of an examination.
#[derive(Clone, Debug, Default)]
pub struct Examined {
    /// The tip's height according to the headers.
    pub height: Height,
    /// Number of examined blocks.
    pub blocks: u32,
    /// Number of transactions in them.
    pub transactions: u64,
    /// Number of the newest blocks that were undone and applied again, to compare balances and all other rows.
    pub replayed: u32,
    /// Descriptions of the first damages.
    pub damage: Vec<String>,
    /// Number of damages.
    pub damaged: u64,
    /// The repair, if one is possible.
    pub mending: Option<Mending>,
    /// The reason why no repair is possible.
    pub beyond: Option<String>,
}

impl Examined {
    /// Returns whether no damage was found.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.damaged == 0
    }

    /// Returns the damage as a failure with its code.
    #[must_use]
    pub fn failure(&self) -> StoreFailure {
        let first = self.damage.first().map_or("", String::as_str);
        let more = match self.damaged {
            0 | 1 => String::new(),
            count => format!(", and {} more", count - 1),
        };
        match &self.beyond {
            Some(why) => StoreFailure {
                kind: FailureKind::Damage,
                code: "chain.store_beyond_repair",
                message: format!("{first}{more}; it cannot be repaired: {why}"),
                hint: crate::errors::action_of("chain.store_beyond_repair"),
            },
            None => damaged(format!("{first}{more}")),
        }
    }
}

/// A repair: one batch and its description.
#[derive(Clone, Debug)]
pub struct Mending {
    /// The rows to write.
    pub batch: WriteBatch,
    /// The height of the tip after the repair.
    pub height: Height,
    /// Descriptions of the changes.
    pub did: Vec<String>,
}

/// Examines the newest blocks of a store that no other process writes to: headers with their links, bodies, indexes and undo
/// rows. Undoes the newest of them and applies them again in memory, and compares every row. Examines the rows of the pool and of
/// side blocks.
///
/// An empty store, or one of another network, is not damage. Opening the store reports it.
///
/// # Errors
/// A read fails. Invalid data is not an error but a finding.
pub fn examine<R: Reads<Table>>(
    reads: R,
    genesis: &Genesis,
    depth: Depth,
) -> Result<Examined, StoreFailure> {
    if reads.get(Table::Meta, rows::META_GENESIS)? != Some(genesis.to_bytes()) {
        return Ok(Examined::default());
    }
    let mut examination = Examination {
        genesis,
        patch: Overlay::bare(reads, genesis),
        pruned: Pruned::default(),
        found: Examined::default(),
        did: Vec::new(),
        patched: 0,
        lost: None,
        not_undone: None,
    };
    let done = examination.run(depth);
    let Examination {
        mut patch,
        mut found,
        did,
        ..
    } = examination;
    match done {
        Ok(()) if found.is_sound() => return Ok(found),
        Ok(()) => {}
        Err(failure) => {
            found.beyond = Some(describe_damage(failure)?);
            // A store that cannot be read through is damaged.
            found.damaged = found.damaged.max(1);
        }
    }
    if found.beyond.is_none() {
        match verify_store(&patch, genesis, found.blocks) {
            Ok(verified) => {
                found.mending = Some(Mending {
                    batch: patch.take_batch(),
                    height: verified.height,
                    did,
                });
            }
            Err(failure) => found.beyond = Some(describe_damage(failure)?),
        }
    }
    if found.damage.is_empty() {
        found.damage.extend(found.beyond.clone());
    }
    Ok(found)
}

/// Returns the description of damage. Other failures are passed on.
fn describe_damage(failure: StoreFailure) -> Result<String, StoreFailure> {
    match failure.kind {
        FailureKind::Damage => Ok(failure.message),
        _ => Err(failure),
    }
}

pub(super) struct Examination<'a, R> {
    pub(super) genesis: &'a Genesis,
    /// The store with the repairs so far.
    pub(super) patch: Overlay<R>,
    pub(super) pruned: Pruned,
    pub(super) found: Examined,
    pub(super) did: Vec<String>,
    pub(super) patched: usize,
    /// The lowest block that is incomplete.
    lost: Option<Height>,
    /// The highest block without a valid undo row.
    pub(super) not_undone: Option<Height>,
}

impl<R: Reads<Table>> Examination<'_, R> {
    fn run(&mut self, depth: Depth) -> Result<(), StoreFailure> {
        self.pruned = Pruned::load(&self.patch)?;
        let top = match self.patch.last(Table::Headers)? {
            Some((key, _)) => rows::read_height(&key)?,
            None => Height::GENESIS,
        };
        self.found.height = top;
        self.walk(top, depth)?;
        self.examine_tip(top)?;
        let top = match self.lost {
            Some(lost) => {
                let undone = self.not_undone.is_none_or(|height| height < lost);
                if lost <= self.pruned.undo || !undone {
                    return Err(damaged(format!("block {lost} cannot be rolled back")));
                }
                let below = lost.previous().expect("genesis is not examined");
                self.cut_off(top, below)?;
                below
            }
            None => top,
        };
        self.apply_again(top, depth)?;
        self.examine_pool_and_side_blocks()?;
        if self.found.is_sound() {
            return Ok(());
        }
        self.examine_repaired(top, depth)
    }

    /// Examines the repaired rows again. A repair is rejected if it leaves damage.
    fn examine_repaired(&mut self, top: Height, depth: Depth) -> Result<(), StoreFailure> {
        let again = Examined {
            height: top,
            ..Examined::default()
        };
        let found = std::mem::replace(&mut self.found, again);
        (self.lost, self.not_undone) = (None, None);
        let looked = self.walk(top, depth).and_then(|()| {
            self.examine_tip(top)?;
            self.apply_again(top, depth)
        });
        let again = std::mem::replace(&mut self.found, found);
        looked?;
        match again.damage.first() {
            Some(what) => Err(damaged(format!("the repair leaves damage: {what}"))),
            None => Ok(()),
        }
    }

    pub(super) fn damage(&mut self, what: String) {
        self.found.damaged += 1;
        if self.found.damage.len() < NAMED_MAX {
            self.found.damage.push(what);
        }
    }

    /// Writes or deletes a row of the patch, within the bound.
    pub(super) fn mend(
        &mut self,
        table: Table,
        key: Vec<u8>,
        value: Option<Vec<u8>>,
    ) -> Result<(), StoreFailure> {
        self.patched += 1;
        if self.patched > MENDED_ROWS_MAX {
            let text = format!("a repair would change more than {MENDED_ROWS_MAX} rows");
            return Err(damaged(text));
        }
        self.patch.write(table, key, value);
        Ok(())
    }

    /// Reports a row that differs from the expected value, and repairs it.
    pub(super) fn expect(
        &mut self,
        table: Table,
        key: &[u8],
        value: Option<&[u8]>,
        what: impl FnOnce() -> String,
    ) -> Result<(), StoreFailure> {
        if self.patch.get(table, key)?.as_deref() == value {
            return Ok(());
        }
        self.damage(what());
        self.mend(table, key.to_vec(), value.map(<[u8]>::to_vec))
    }

    fn walk(&mut self, top: Height, depth: Depth) -> Result<(), StoreFailure> {
        let mut above: Option<Hash> = None;
        for height in Height::FIRST.through(top).rev().take(depth.blocks as usize) {
            if self.found.blocks > 0 && self.found.transactions >= depth.transactions {
                return Ok(());
            }
            self.found.blocks += 1;
            if height > self.pruned.undo {
                let undo = self.patch.get(Table::Undo, &height.to_be_bytes())?;
                if undo.is_none_or(|undo| rows::read_undo(&undo).is_err()) {
                    let text = format!("block {height}: the undo rows are missing or invalid");
                    self.damage(text);
                    self.not_undone = self.not_undone.max(Some(height));
                }
            }
            above = match self.block(height, above) {
                Ok(previous) => Some(previous),
                Err(failure) => {
                    let what = describe_damage(failure)?;
                    self.damage(format!("block {height}: {what}"));
                    self.lost = Some(height);
                    None
                }
            };
        }
        let whole = self.found.blocks == top.get();
        if whole && above.is_some_and(|above| above != self.genesis.hash) {
            return Err(damaged("the first block does not follow genesis"));
        }
        Ok(())
    }

    /// Examines a block and repairs its indexes. Returns the hash of the block before it.
    fn block(&mut self, height: Height, above: Option<Hash>) -> Result<Hash, StoreFailure> {
        let row = read::header(&self.patch, height)?;
        let row = row.ok_or_else(|| damaged("the header is missing"))?;
        if row.header.hash(&self.genesis.hash) != row.hash
            || above.is_some_and(|above| above != row.hash)
        {
            return Err(damaged(
                "the stored hash does not match the header or the next block",
            ));
        }
        let block = match height > self.pruned.bodies {
            true => Some(self.body(height)?),
            false => None,
        };
        let value = height.to_be_bytes();
        self.expect(Table::ByHash, row.hash.as_bytes(), Some(&value), || {
            format!("block {height}: the index entry of its hash is missing or wrong")
        })?;
        if let Some(block) = block {
            self.indexes(&block)?;
        }
        Ok(row.header.previous)
    }

    fn body(&self, height: Height) -> Result<CarriedBlock, StoreFailure> {
        let block = carried_block(&self.patch, self.genesis, height)?;
        let block = block.ok_or_else(|| damaged("the body is missing"))?;
        match check_shape(self.genesis, &block) {
            Ok(()) => Ok(block),
            Err(fault) => Err(damaged(fault.to_string())),
        }
    }

    fn indexes(&mut self, block: &CarriedBlock) -> Result<(), StoreFailure> {
        let height = block.header.height;
        let mut offset = 0;
        for carried in block.transactions() {
            let place = Place { height, offset }.to_bytes();
            self.expect(Table::TxIndex, &carried.id.0, Some(&place), || {
                format!(
                    "block {height}: the index entry of transaction {} is missing or wrong",
                    carried.id
                )
            })?;
            offset += carried.bytes;
            self.found.transactions += 1;
        }
        for (account, mut places) in account_places(block) {
            let key = rows::held_key(&account, height);
            let value = rows::account_txs_value(&mut places);
            self.expect(Table::AccountTxs, &key, Some(&value), || {
                format!("block {height}: the index entry of account {account} is missing or wrong")
            })?;
        }
        Ok(())
    }

    /// Checks that the row of the tip names the last header.
    fn examine_tip(&mut self, top: Height) -> Result<(), StoreFailure> {
        if self.lost == Some(top) {
            return Ok(());
        }
        let hash = match read::header(&self.patch, top)? {
            Some(row) => row.hash,
            None if top.is_genesis() => self.genesis.hash,
            None => return Ok(()),
        };
        let value = rows::tip_value(top, &hash);
        self.expect(Table::Meta, rows::META_TIP, Some(&value), || {
            format!("the row of the tip does not name the last block, {top}")
        })
    }

    /// Drops invalid rows of accepted transactions and of side blocks.
    fn examine_pool_and_side_blocks(&mut self) -> Result<(), StoreFailure> {
        let genesis = self.genesis;
        self.sift(Table::Pool, |key, value| {
            let carried = Carried::read(&genesis.hash, value).ok()?;
            (carried.1 == value.len() && key == carried.0.id.0).then_some(())
        })?;
        self.sift(Table::Side, |key, value| {
            let (header, body) = value.split_at_checked(HEADER_BYTES)?;
            let header = read_header(header).ok()?;
            read_carried_body(&genesis.hash, body, genesis.transactions_max()).ok()?;
            (key == header.hash(&genesis.hash).as_bytes()).then_some(())
        })
    }

    fn sift(
        &mut self,
        table: Table,
        good: impl Fn(&[u8], &[u8]) -> Option<()>,
    ) -> Result<(), StoreFailure> {
        let mut from = Vec::new();
        let mut bad = Vec::new();
        loop {
            // Blocks are large.
            let page = self.patch.scan(table, &from, None, 64)?;
            for (key, value) in &page {
                if good(key, value).is_none() && bad.len() < PAGE {
                    bad.push(key.clone());
                }
            }
            match page.last() {
                Some((last, _)) if page.len() == 64 => from = [last, &[0][..]].concat(),
                _ => break,
            }
        }
        if !bad.is_empty() {
            let text = format!(
                "{} rows of table {} that were not valid were dropped",
                bad.len(),
                table.name()
            );
            self.did.push(text);
        }
        for key in bad {
            let text = format!("a row of table {} is not valid", table.name());
            self.damage(text);
            self.mend(table, key, None)?;
        }
        Ok(())
    }
}
