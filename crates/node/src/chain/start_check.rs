//! The check of a store's newest blocks before a node starts, and the repair of damaged rows.

use std::time::Instant;

use chain::port::Table;
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
    let section = files.config.store;
    if section.check_blocks == 0 {
        return Ok(());
    }
    let began = Instant::now();
    let depth = Depth {
        blocks: section.check_blocks,
        transactions: CHECKED_TRANSACTIONS,
    };
    let found =
        examine(store.clone(), &files.genesis, depth).map_err(ChainStartError::StoreFailed)?;
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
    if !section.repair {
        return Err(ChainStartError::StoreFailed(found.failure()));
    }
    for did in mend(store, &found)? {
        tracing::warn!("the store: {did}");
    }
    Ok(())
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
