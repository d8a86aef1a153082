//! The check of a store's newest blocks before a node starts, and the repair of damaged rows.

use std::time::Instant;

use chain::port::{Reads, Table};
use chain::state::{Depth, Examined, examine};
use store::Embedded;

use super::files::ChainFiles;
use super::start_error::ChainStartError;

/// Maximum number of transactions that the check at a start reads, which takes about a second.
const CHECKED_TRANSACTIONS: u64 = 50_000;

/// Checks the newest blocks, as many as the settings say, and repairs damaged rows where possible.
///
/// # Errors
/// The store cannot be read, or it is damaged and cannot be repaired, or the settings forbid the repair.
pub(super) fn check_at_start(
    store: &Embedded<Table>,
    files: &ChainFiles,
) -> Result<(), ChainStartError> {
    let began = Instant::now();
    let Some(found) = examine_newest(store.clone(), files)? else {
        return Ok(());
    };
    let ms = primitives::whole_ms(began.elapsed());
    if found.is_sound() {
        tracing::info!(
            height = found.height.get(),
            blocks = found.blocks,
            transactions = found.transactions,
            replayed = found.replayed,
            ms,
            "the store's newest blocks are whole"
        );
        return Ok(());
    }
    for damage in &found.damage {
        tracing::error!(code = "chain.store_damaged", "the store: {damage}");
    }
    refuse_unmended(&found, files)?;
    for did in mend(store, &found)? {
        tracing::warn!("the store: {did}");
    }
    Ok(())
}

/// Examines the newest blocks, as many as the settings say: `None` if they say none. Changes nothing.
///
/// # Errors
/// The store cannot be read.
pub(super) fn examine_newest<R: Reads<Table>>(
    store: R,
    files: &ChainFiles,
) -> Result<Option<Examined>, ChainStartError> {
    let blocks = files.config.store.check_blocks;
    if blocks == 0 {
        return Ok(None);
    }
    let depth = Depth {
        blocks,
        transactions: CHECKED_TRANSACTIONS,
    };
    let found = examine(store, &files.genesis, depth).map_err(ChainStartError::StoreFailed)?;
    Ok(Some(found))
}

/// Refuses a damaged store that a start may not or cannot repair.
///
/// # Errors
/// It is such a store.
pub(super) fn refuse_unmended(found: &Examined, files: &ChainFiles) -> Result<(), ChainStartError> {
    match files.config.store.repair && found.mending.is_some() {
        true => Ok(()),
        false => Err(ChainStartError::StoreFailed(found.failure())),
    }
}

/// Writes the rows that repair a store. Returns a description of each repair.
///
/// # Errors
/// Nothing mends it, or it cannot be written.
pub(super) fn mend(
    store: &Embedded<Table>,
    found: &Examined,
) -> Result<Vec<String>, ChainStartError> {
    let Some(mending) = &found.mending else {
        return Err(ChainStartError::StoreFailed(found.failure()));
    };
    store
        .write(vec![mending.batch.clone()])
        .map_err(ChainStartError::StoreFailed)?;
    let mut did = mending.did.clone();
    did.push(format!("repaired; the tip is block {}", mending.height));
    Ok(did)
}
