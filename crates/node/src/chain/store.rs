//! The store of a chain node.

use std::path::Path;

use chain::port::Table;
use store::Embedded;

use super::files::ChainFiles;
use super::start_error::ChainStartError;

/// The folder of the chain's store, within the data folder.
pub const STORE: &str = "chain";

/// The store of a chain.
pub(super) type Store = Embedded<Table>;

/// Opens the store in a data folder.
///
/// # Errors
/// The store is in use, damaged, or cannot be read.
pub(super) fn open_store(data: &Path, files: &ChainFiles) -> Result<Store, ChainStartError> {
    let section = files.config.store;
    let options = store::Options {
        cache_bytes: section.cache_bytes,
        memtable_bytes: section.memory_bytes,
        log_bytes: section.log_bytes,
        custody: Some(files.custody()),
        ..store::Options::default()
    };
    Ok(Embedded::open(&data.join(STORE), &options)?)
}
