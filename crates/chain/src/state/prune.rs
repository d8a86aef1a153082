//! What nobody asks for any more is deleted, a little at a time.

use super::hash::horizon;
use super::rows::{self, RowReader};
use super::undo::carried_block;
use super::{Overlay, apply::account_places};
use crate::port::{Reads, StoreFailure, Table};
use crate::{AccountId, Genesis};

/// How far a store has been pruned: the row [`rows::META_PRUNED`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Blocks up to this height cannot be undone.
    pub undo: u32,
    /// Blocks up to this height have neither bodies nor indexes.
    pub bodies: u32,
    /// The key of `Held` up to which the walk through the table has come; empty at its beginning.
    cursor: Vec<u8>,
    /// The account at the cursor has a row at or below the horizon before it: all that follow go.
    settled: bool,
}

impl Pruned {
    /// How far a store has been pruned.
    pub fn load(reads: &impl Reads<Table>) -> Result<Self, StoreFailure> {
        let Some(value) = reads.get(Table::Meta, rows::META_PRUNED)? else {
            return Ok(Self::default());
        };
        let mut reader = RowReader::new(&value, "what is pruned");
        Ok(Self {
            undo: reader.u32()?,
            bodies: reader.u32()?,
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

/// Deletes what is beyond twice the rollback limit: undo rows, held balances that count no more; and bodies with their indexes where only
/// `bodies_kept` blocks are to be kept (and all within the rollback limit, and all whose transactions' deadlines might not be over).
///
/// It looks at about `rows_max` rows, or at one block: call it after each block with some hundreds.
pub fn prune<R: Reads<Table>>(
    overlay: &mut Overlay<R>,
    genesis: &Genesis,
    bodies_kept: Option<u32>,
    rows_max: usize,
) -> Result<Pruned, StoreFailure> {
    let before = Pruned::load(overlay)?;
    let mut pruned = before.clone();
    let tip = overlay.tip().height;
    let fixed = tip.saturating_sub(reach(genesis));
    for height in
        pruned.undo.saturating_add(1)..=fixed.min(pruned.undo.saturating_add(count(rows_max)))
    {
        overlay.delete(Table::Undo, height.to_be_bytes());
        pruned.undo = height;
    }
    if let Some(kept) = bodies_kept {
        prune_bodies(
            overlay,
            genesis,
            &mut pruned,
            fixed.min(tip.saturating_sub(kept)),
            rows_max,
        )?;
    }
    let horizon = horizon(
        genesis,
        tip.saturating_sub(genesis.params.rollback_blocks_max),
    );
    if horizon > 0 {
        prune_held(overlay, &mut pruned, horizon, rows_max)?;
    }
    if pruned != before {
        overlay.put(Table::Meta, rows::META_PRUNED, pruned.to_bytes());
    }
    Ok(pruned)
}

/// The height up to which bodies may go where `bodies_kept` of the newest blocks are to be kept: no block within what can be taken back, and
/// none whose transactions' deadlines might not be over then.
pub fn prunable<R: Reads<Table>>(
    overlay: &Overlay<R>,
    genesis: &Genesis,
    bodies_kept: u32,
) -> Result<u32, StoreFailure> {
    let tip = overlay.tip().height;
    let fixed = tip.saturating_sub(reach(genesis));
    let mut until = fixed.min(tip.saturating_sub(bodies_kept));
    let Some(fixed_time) = overlay.time_at(fixed)? else {
        return Ok(0);
    };
    // Times ascend: the last block that is old enough, by halving.
    let (mut old, remembered) = (0, remembered(genesis));
    while old < until {
        let middle = old + (until - old).div_ceil(2);
        let time = overlay.time_at(middle)?.unwrap_or(u32::MAX);
        if time.saturating_add(remembered) < fixed_time {
            old = middle;
        } else {
            until = middle - 1;
        }
    }
    Ok(old)
}

/// For so many seconds a transaction might come again.
fn remembered(genesis: &Genesis) -> u32 {
    let params = &genesis.params;
    params
        .clock_drift_seconds
        .saturating_add(u32::from(params.deadline_minutes_max) * 60)
}

/// How many blocks can be taken back: twice what the node does by itself, so that a branch beyond the rollback limit can be judged, and an
/// operator can let the node go over to it.
fn reach(genesis: &Genesis) -> u32 {
    genesis.params.rollback_blocks_max.saturating_mul(2)
}

fn count(rows: usize) -> u32 {
    u32::try_from(rows).unwrap_or(u32::MAX)
}

fn prune_bodies<R: Reads<Table>>(
    overlay: &mut Overlay<R>,
    genesis: &Genesis,
    pruned: &mut Pruned,
    until: u32,
    rows_max: usize,
) -> Result<(), StoreFailure> {
    let fixed = overlay.tip().height.saturating_sub(reach(genesis));
    let Some(fixed_time) = overlay.time_at(fixed)? else {
        return Ok(());
    };
    let remembered = remembered(genesis);
    let mut rows_seen = 0;
    while pruned.bodies < until && rows_seen < rows_max {
        let height = pruned.bodies + 1;
        let time = overlay.time_at(height)?.unwrap_or(u32::MAX);
        if time.saturating_add(remembered) >= fixed_time {
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

/// Goes on with the walk through the held balances: of each account, all rows older than the newest at or below the horizon go; and
/// that one too if it says nothing and is the account's last, so that no older one ever speaks in its place.
fn prune_held<R: Reads<Table>>(
    overlay: &mut Overlay<R>,
    pruned: &mut Pruned,
    horizon: u32,
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
        let (of, height): (AccountId, u32) = rows::read_held_key(key)?;
        if account != Some(of) {
            account = Some(of);
            pruned.settled = false;
        }
        let empty = height <= horizon && rows::read_u64(value)? == 0;
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
