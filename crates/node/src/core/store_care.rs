//! Commands on the store of a stopped node: permit an empty store, or accept the present one.

use std::path::PathBuf;

use super::start_error::StartError;
use super::storage::refuse_database;
use crate::bootstrap::NodeFiles;
use crate::ledger_store::LedgerStore;

/// Lets the next start of a node make an empty store under its identity. Gives the store's path.
///
/// # Errors
/// There is a store, the data is on a database server, or a file cannot be read or written.
pub fn init_store(files: &NodeFiles) -> Result<PathBuf, StartError> {
    refuse_database(files)?;
    let path = files.ledger();
    files.custody().permit_empty_store(&path)?;
    Ok(path)
}

/// Accepts the store in a node's folder in its present state, after a check of every byte. Returns the store's path.
///
/// # Errors
/// The data is on a database server, or the store is in use, is missing or is damaged.
pub fn accept_store(files: &NodeFiles) -> Result<PathBuf, StartError> {
    refuse_database(files)?;
    let path = files.ledger();
    LedgerStore::accept(&path, Some(&files.custody()))?;
    Ok(path)
}
