//! Undoes the last block and restores every row.

use super::apply::account_places;
use super::rows;
use super::{Fault, Overlay, Point, read};
use crate::block::{CarriedBlock, CheckedBlock, read_carried_body};
use crate::port::{Reads, StoreFailure, Table, damaged};
use crate::{AccountId, ChainId, Genesis, Height};

/// Undoes the tip and returns it. Its transactions may return to the pool, and the block may join again.
///
/// Fails with `chain_block.too_deep` at genesis, or if the undo row has been pruned, and with `chain.store_damaged` if a row is
/// missing or invalid. Nothing is undone in these cases.
pub fn undo_block<R: Reads<Table>>(
    overlay: &mut Overlay<R>,
    genesis: &Genesis,
) -> Result<CheckedBlock, Fault> {
    let height = overlay.tip().height;
    let too_deep = || Fault::refused("chain_block.too_deep", format!("block {height}"));
    if height.is_genesis() {
        return Err(too_deep());
    }
    let undo = overlay
        .get(Table::Undo, &height.to_be_bytes())?
        .ok_or_else(too_deep)?;
    let former = rows::read_undo(&undo)?;
    let block = carried_block(overlay, genesis, height)?
        .ok_or_else(|| damaged(format!("block {height} is missing")))?;
    let before = before(overlay, genesis, height)?;
    if block.hash != overlay.tip().hash || block.header.previous != before.hash {
        let text = format!("block {height} is not the tip, or does not follow the block below it");
        return Err(damaged(text).into());
    }
    assert_eq!(before.height.next(), Some(height));
    // All reads are done. The remaining steps cannot fail.
    for carried in block.transactions() {
        overlay.delete(Table::TxIndex, carried.id.0);
        overlay.recent.remove(&carried.id);
    }
    for account in account_places(&block).into_keys() {
        overlay.delete(Table::AccountTxs, rows::held_key(&account, height));
    }
    for (table, key, value) in former.into_iter().rev() {
        if let Some(account) = on_parent(table, &key) {
            overlay.delete(Table::Held, rows::held_key(&account, height));
        }
        overlay.write(table, key, value);
    }
    overlay.delete(Table::Headers, height.to_be_bytes());
    overlay.delete(Table::ByHash, *block.hash.as_bytes());
    let pieces = (block.header.body_bytes as usize).div_ceil(rows::PIECE_BYTES);
    for piece in (0..=u16::MAX).take(pieces) {
        overlay.delete(Table::Bodies, rows::body_key(height, piece));
    }
    overlay.delete(Table::Undo, height.to_be_bytes());
    let tip = rows::tip_value(before.height, &before.hash);
    overlay.put(Table::Meta, rows::META_TIP, tip);
    overlay.window.pop(height);
    overlay.tip = before;
    // Only a checked block can be applied.
    Ok(CheckedBlock::from_store(block))
}

/// Returns the account of a balance on the parent chain.
pub(super) fn on_parent(table: Table, key: &[u8]) -> Option<AccountId> {
    let (account, chain) = key.split_first_chunk::<16>()?;
    (table == Table::Balances && chain == [ChainId::PARENT.0]).then_some(AccountId(*account))
}

fn before<R: Reads<Table>>(
    overlay: &Overlay<R>,
    genesis: &Genesis,
    height: Height,
) -> Result<Point, StoreFailure> {
    let below = height.previous().expect("genesis is not undone");
    if below.is_genesis() {
        return Ok(Point::genesis(genesis));
    }
    let row = overlay
        .header_row(below)?
        .ok_or_else(|| damaged(format!("there is no header at {below}")))?;
    Ok(Point::of(&row.header, row.hash))
}

/// Reads a block of this branch. Returns `None` if there is none, or if its body has been pruned.
pub fn carried_block(
    reads: &impl Reads<Table>,
    genesis: &Genesis,
    height: Height,
) -> Result<Option<CarriedBlock>, StoreFailure> {
    let Some(row) = read::header(reads, height)? else {
        return Ok(None);
    };
    let Some(bytes) = read::body_bytes(reads, &row.header)? else {
        return Ok(None);
    };
    let body = read_carried_body(&genesis.hash, &bytes, genesis.transactions_max())
        .map_err(|rejection| damaged(format!("block {height}: {rejection}")))?;
    Ok(Some(CarriedBlock {
        header: row.header,
        hash: row.hash,
        body,
    }))
}
