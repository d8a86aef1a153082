//! The comparison of a store's files with its inventory, before any of them is opened.

use std::io;
use std::path::Path;

use super::listing::{Listing, SlotListing};
use crate::directory::{LOG, TABLES};
use crate::failure::OpenError;
use crate::log::first_sector;
use crate::log::{Header, Sector};
use crate::sorted_files;

fn incomplete(path: &Path, reason: String) -> OpenError {
    OpenError::Incomplete {
        path: path.to_path_buf(),
        reason,
    }
}

/// Refuses a store if a listed file is missing, shorter or older than listed.
pub(super) fn compare(store: &Path, listing: &Listing) -> Result<(), OpenError> {
    for (name, slot) in &listing.slots {
        compare_slot(&store.join(LOG).join(name), slot)?;
    }
    for (name, table) in &listing.tables {
        sorted_files::compare(&store.join(TABLES).join(name), table)
            .map_err(|(path, reason)| incomplete(&path, reason))?;
    }
    Ok(())
}

fn compare_slot(path: &Path, known: &SlotListing) -> Result<(), OpenError> {
    let io = |source| OpenError::Io {
        path: path.to_path_buf(),
        source,
    };
    let bytes = match std::fs::metadata(path) {
        Ok(meta) => meta.len(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(incomplete(path, "it is missing".into()));
        }
        Err(error) => return Err(io(error)),
    };
    if bytes < known.bytes {
        let reason = format!("it has {bytes} bytes, the inventory lists {}", known.bytes);
        return Err(incomplete(path, reason));
    }
    if known.segment == 0 {
        return Ok(());
    }
    match first_sector(path).map_err(io)? {
        // Another version is not reported here: reading the log returns its own error for it.
        Sector::OtherVersion(_) => Ok(()),
        Sector::Valid(Header { id, .. }) if id >= known.segment => Ok(()),
        Sector::Valid(Header { id, .. }) => Err(incomplete(
            path,
            format!(
                "it holds segment {id} of the log, the inventory lists segment {}",
                known.segment
            ),
        )),
        Sector::Unusable => Err(incomplete(path, "its header is damaged".into())),
    }
}

/// Checks a store that an older program made without an inventory. Refuses it if a table's folder lacks the pointer to its
/// list. Logs a warning for each table without a folder, because it is unknown whether the older program knew that table.
pub(super) fn before_adoption(store: &Path, tables: &[&str]) -> Result<(), OpenError> {
    if !has_records(&store.join(LOG)).map_err(|source| OpenError::Io {
        path: store.join(LOG),
        source,
    })? {
        return Ok(());
    }
    for table in tables {
        let folder = store.join(TABLES).join(table);
        let pointer = sorted_files::pointer(&folder);
        if folder.is_dir() && !pointer.exists() {
            return Err(incomplete(&pointer, "it is missing".into()));
        }
        if !folder.is_dir() {
            tracing::warn!(
                folder = %folder.display(),
                "the store does not have this table, which the older program may not have known; an empty one is made"
            );
        }
    }
    Ok(())
}

/// Returns whether any segment was ever started.
fn has_records(log: &Path) -> io::Result<bool> {
    let entries = match std::fs::read_dir(log) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    for entry in entries {
        if matches!(first_sector(&entry?.path())?, Sector::Valid(_)) {
            return Ok(true);
        }
    }
    Ok(false)
}
