//! The hash of the state, which nodes at the same block can compare.

use primitives::{Domain, Hash, Hasher};

use super::{read, rows};
use crate::port::{Reads, StoreFailure, Table};
use crate::{AccountId, Genesis, Height};

/// Rows that are read at a time.
const PAGE: usize = 4_096;

/// The hash of the state at a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateHash {
    /// The block's height.
    pub height: Height,
    /// The block's hash.
    pub block: Hash,
    /// The hash over tip, balances, leases, and those held balances that may still count. It is the same on every node at this
    /// block, regardless of the node's history and pruning.
    pub state: Hash,
}

/// Computes the hash of the state. It reads every balance, so it is meant for tests, checks and audits. Returns `None` if the tip
/// moved during a concurrent write. Ask again then.
pub fn state_hash(
    reads: &impl Reads<Table>,
    genesis: &Genesis,
) -> Result<Option<StateHash>, StoreFailure> {
    let (height, block) = read::tip(reads)?;
    let mut hasher = Hasher::new();
    hasher.update(&[Domain::ChainState as u8]);
    hasher.update(&rows::tip_value(height, &block));
    for table in [Table::Balances, Table::Leases, Table::Lessors] {
        each_row(reads, table, |key, value| {
            add(&mut hasher, table, key, value);
            Ok(())
        })?;
    }
    let horizon = horizon(genesis, height);
    let mut last: Option<AccountId> = None;
    each_row(reads, Table::Held, |key, value| {
        let (account, height) = rows::read_held_key(key)?;
        if height > horizon {
            add(&mut hasher, Table::Held, key, value);
        } else if last != Some(account) {
            // This is the newest row at or below the horizon. No result depends on its height, and a zero balance is equivalent
            // to no row.
            last = Some(account);
            if !rows::read_minor_units(value)?.is_zero() {
                add(&mut hasher, Table::Held, &account.0, value);
            }
        }
        Ok(())
    })?;
    let state = hasher.finish();
    let same = read::tip(reads)? == (height, block);
    Ok(same.then_some(StateHash {
        height,
        block,
        state,
    }))
}

/// Returns the height at or below which overwritten held balances no longer count, even after the deepest rollback.
pub(super) fn horizon(genesis: &Genesis, height: Height) -> Height {
    // In a young chain every balance counts.
    height
        .minus_or_genesis(genesis.params.effective_age_blocks)
        .minus_or_genesis(genesis.params.rollback_blocks_max)
}

fn add(hasher: &mut Hasher, table: Table, key: &[u8], value: &[u8]) {
    hasher.update(&[table as u8, key.len() as u8, value.len() as u8]);
    hasher.update(key);
    hasher.update(value);
}

/// Calls `each` for every row of a table, in order.
pub(super) fn each_row(
    reads: &impl Reads<Table>,
    table: Table,
    mut each: impl FnMut(&[u8], &[u8]) -> Result<(), StoreFailure>,
) -> Result<(), StoreFailure> {
    let mut from = Vec::new();
    loop {
        let page = reads.scan(table, &from, None, PAGE)?;
        for (key, value) in &page {
            each(key, value)?;
        }
        match page.last() {
            Some((last, _)) if page.len() == PAGE => from = [last, &[0][..]].concat(),
            _ => return Ok(()),
        }
    }
}
