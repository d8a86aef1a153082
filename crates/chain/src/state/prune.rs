//! Pruning: rows that are no longer needed are deleted in small parts.

use super::hash::horizon;
use super::rows::{self, RowReader};
use super::undo::carried_block;
use super::{Overlay, apply::account_places};
use crate::port::{Reads, StoreFailure, Table};
use crate::{AccountId, BlockTimestamp, Genesis, Height, Seconds};

/// The progress of pruning: the row [`rows::META_PRUNED`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Blocks up to this height cannot be undone.
    pub undo: Height,
    /// Blocks up to this height have neither bodies nor indexes.
    pub bodies: Height,
    /// The last key of `Held` that the sweep has visited. Empty at the beginning.
    cursor: Vec<u8>,
    /// Whether the sweep has passed a row of the current account at or below the horizon. All its following rows are deleted
    /// then.
    settled: bool,
}

impl Pruned {
    /// Reads the progress of a store.
    pub fn load(reads: &impl Reads<Table>) -> Result<Self, StoreFailure> {
        let Some(value) = reads.get(Table::Meta, rows::META_PRUNED)? else {
            return Ok(Self::default());
        };
        let mut reader = RowReader::new(&value, "what is pruned");
        Ok(Self {
            undo: reader.height()?,
            bodies: reader.height()?,
            settled: reader.take::<1>()? == [1],
            cursor: reader.rest().to_vec(),
        })
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(9 + self.cursor.len());
        out.extend_from_slice(&self.undo.to_be_bytes());
        out.extend_from_slice(&self.bodies.to_be_bytes());
        out.push(u8::from(self.settled));
        out.extend_from_slice(&self.cursor);
        out
    }
}

/// Deletes rows beyond twice the rollback limit: undo rows and held balances that no longer count. If `bodies_kept` is given,
/// also deletes bodies and their indexes except for that many newest blocks. Blocks that can still be undone, and blocks whose
/// transactions' deadlines may not be over, keep their bodies.
///
/// Examines about `rows_max` rows, or one block. Call it after each block with some hundreds.
pub fn prune<R: Reads<Table>>(
    overlay: &mut Overlay<R>,
    genesis: &Genesis,
    bodies_kept: Option<u32>,
    rows_max: usize,
) -> Result<Pruned, StoreFailure> {
    let before = Pruned::load(overlay)?;
    let mut pruned = before.clone();
    let tip = overlay.tip().height;
    // In a young chain only genesis is fixed.
    let fixed = tip.minus_or_genesis(reach(genesis));
    for height in pruned.undo.above_through(fixed).take(rows_max) {
        overlay.delete(Table::Undo, height.to_be_bytes());
        pruned.undo = height;
    }
    if let Some(kept) = bodies_kept {
        prune_bodies(
            overlay,
            genesis,
            &mut pruned,
            // In a young chain all blocks are kept.
            fixed.min(tip.minus_or_genesis(kept)),
            rows_max,
        )?;
    }
    let horizon = horizon(
        genesis,
        // A young chain can be rolled back to genesis.
        tip.minus_or_genesis(genesis.params.rollback_blocks_max),
    );
    if !horizon.is_genesis() {
        prune_held(overlay, &mut pruned, horizon, rows_max)?;
    }
    assert!(
        pruned.undo <= fixed.max(before.undo) && pruned.bodies <= fixed.max(before.bodies),
        "a block above {fixed} can still be undone: {pruned:?}"
    );
    if pruned != before {
        overlay.put(Table::Meta, rows::META_PRUNED, pruned.to_bytes());
    }
    Ok(pruned)
}

/// Returns the maximum height of bodies that may be deleted if `bodies_kept` of the newest blocks are kept. No block that can
/// still be undone is included, and none whose transactions' deadlines may not be over.
pub fn prunable<R: Reads<Table>>(
    overlay: &Overlay<R>,
    genesis: &Genesis,
    bodies_kept: u32,
) -> Result<Height, StoreFailure> {
    let tip = overlay.tip().height;
    // In a young chain only genesis is fixed.
    let fixed = tip.minus_or_genesis(reach(genesis));
    let mut until = fixed.min(tip.minus_or_genesis(bodies_kept));
    let Some(fixed_time) = overlay.time_at(fixed)? else {
        return Ok(Height::GENESIS);
    };
    // Times ascend, so a binary search finds the last block that is old enough.
    let (mut old, remembered) = (Height::GENESIS, remembered(genesis));
    while let Some(left @ 1..) = until.blocks_since(old) {
        let middle = until
            .minus(left / 2)
            .expect("half of the distance to a lower height");
        // A block without a header counts as young, so it is kept.
        let time = overlay.time_at(middle)?.unwrap_or(BlockTimestamp::LAST);
        if time.plus_or_last(remembered) < fixed_time {
            old = middle;
        } else {
            until = middle.previous().expect("above a lower height");
        }
    }
    Ok(old)
}

/// Returns the time during which a transaction might be submitted again.
fn remembered(genesis: &Genesis) -> Seconds {
    // A time beyond the range keeps all bodies.
    let params = &genesis.params;
    params
        .clock_drift_seconds
        .plus_or_max(params.deadline_minutes_max.seconds())
}

/// Returns the number of blocks that can be undone. It is twice the rollback limit, so that a branch beyond the limit can be
/// judged and an operator can switch the node to it.
fn reach(genesis: &Genesis) -> u32 {
    // A reach beyond the range keeps the whole chain.
    genesis.params.rollback_blocks_max.saturating_mul(2)
}

fn prune_bodies<R: Reads<Table>>(
    overlay: &mut Overlay<R>,
    genesis: &Genesis,
    pruned: &mut Pruned,
    until: Height,
    rows_max: usize,
) -> Result<(), StoreFailure> {
    // In a young chain only genesis is fixed.
    let fixed = overlay.tip().height.minus_or_genesis(reach(genesis));
    let Some(fixed_time) = overlay.time_at(fixed)? else {
        return Ok(());
    };
    let remembered = remembered(genesis);
    let mut rows_seen = 0;
    for height in pruned.bodies.above_through(until) {
        if rows_seen >= rows_max {
            return Ok(());
        }
        // A block without a header counts as young, so it is kept.
        let time = overlay.time_at(height)?.unwrap_or(BlockTimestamp::LAST);
        if time.plus_or_last(remembered) >= fixed_time {
            return Ok(());
        }
        if let Some(block) = carried_block(overlay, genesis, height)? {
            for carried in block.transactions() {
                overlay.delete(Table::TxIndex, carried.id.0);
                rows_seen += 1;
            }
            for account in account_places(&block).into_keys() {
                overlay.delete(Table::AccountTxs, rows::held_key(&account, height));
                rows_seen += 1;
            }
            let pieces = (block.header.body_bytes as usize).div_ceil(rows::PIECE_BYTES);
            for piece in (0..=u16::MAX).take(pieces) {
                overlay.delete(Table::Bodies, rows::body_key(height, piece));
                rows_seen += 1;
            }
        }
        rows_seen += 1;
        pruned.bodies = height;
    }
    Ok(())
}

/// Continues the sweep through the held balances. For each account, deletes all rows older than the newest one at or below the
/// horizon. Deletes that row too if its balance is zero and it is the account's last, so that no older row takes its place.
fn prune_held<R: Reads<Table>>(
    overlay: &mut Overlay<R>,
    pruned: &mut Pruned,
    horizon: Height,
    rows_max: usize,
) -> Result<(), StoreFailure> {
    let mut from = pruned.cursor.clone();
    let mut account = match from.is_empty() {
        true => None,
        false => {
            let (account, _) = rows::read_held_key(&from)?;
            from.push(0);
            Some(account)
        }
    };
    let rows_max = rows_max.max(1);
    let page = overlay.scan(Table::Held, &from, None, rows_max)?;
    let at_end = page.len() < rows_max;
    for (at, (key, value)) in page.iter().enumerate() {
        let (of, height): (AccountId, Height) = rows::read_held_key(key)?;
        if account != Some(of) {
            account = Some(of);
            pruned.settled = false;
        }
        let empty = height <= horizon && rows::read_minor_units(value)?.is_zero();
        let is_last = match page.get(at + 1) {
            Some((next, _)) => rows::read_held_key(next)?.0 != of,
            None => at_end,
        };
        if pruned.settled || (empty && is_last) {
            overlay.delete(Table::Held, key.clone());
        }
        pruned.settled |= height <= horizon;
    }
    match page.last() {
        Some((last, _)) if !at_end => pruned.cursor.clone_from(last),
        _ => {
            pruned.cursor.clear();
            pruned.settled = false;
        }
    }
    Ok(())
}
