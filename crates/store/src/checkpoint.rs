//! A consistent copy of a store that stays open.
//!
//! ```text
//! writer stopped (milliseconds): which sorted files there are, a copy of the log
//! writer runs again: the sorted files are linked, or copied where the file system cannot link; everything is synced
//! last: the FORMAT file, with what the copy must consist of
//! ```
//!
//! # Correctness
//! A copy is in the state that a power cut at that moment would leave: opening it replays the log over the sorted files. A
//! half-made copy without a FORMAT file is refused. In one with a FORMAT file, missing files are noticed before anything is
//! changed.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::MutexGuard;

use primitives::storage::{StoreFailure, TableSet};

use crate::copy_inventory::CopyInventory;
use crate::directory::{self, LOG, STORED, TABLES, sync_directory};
use crate::embedded::Embedded;
use crate::failure::copy_failed;
use crate::shared::{StoreState, Writer};
use crate::sorted::describe_tree;
use crate::sorted_files::SortedCopy;

/// Attempts to find a moment without a flush. After these, the writer is stopped until the running flush has ended.
const MOMENTS_MAX: usize = 3;

/// A copy that was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyFigures {
    /// Files in the copy.
    pub files: u64,
    /// The sum of their lengths, in bytes.
    pub bytes: u64,
    /// Bytes, out of these, of files that the copy shares with the store as links.
    pub linked_bytes: u64,
}

impl<T: TableSet> Embedded<T> {
    /// Makes a copy of the store in `to`, which must be missing or an empty directory. The copy holds everything that was
    /// durable at one moment during the call. The store stays open, and writers wait while the log (at most some tens of
    /// megabytes) is copied.
    ///
    /// If `to` is on the store's file system, the copy shares the sorted files with the store through hard links. It then takes
    /// no space at first, but does not protect against a failing disk. A copy that fails is removed. A copy that was
    /// interrupted cannot be opened.
    pub fn checkpoint(&self, to: &Path) -> Result<CopyFigures, StoreFailure> {
        let shared = self.shared();
        let made = create_empty(to).map_err(|error| copy_failed(to, error))?;
        let copied = self.copy(to);
        if copied.is_err() {
            // If files cannot be removed, no harm is done: they have no FORMAT file, so opening them as a store is refused.
            for folder in [LOG, TABLES] {
                let _ = std::fs::remove_dir_all(to.join(folder));
            }
            if made {
                let _ = std::fs::remove_dir(to);
            }
        }
        copied.map_err(|error| match shared.poison.get() {
            Some(failure) => failure.clone(),
            None => copy_failed(to, error),
        })
    }

    fn copy(&self, to: &Path) -> io::Result<CopyFigures> {
        let shared = self.shared();
        for folder in [LOG, TABLES] {
            std::fs::create_dir(to.join(folder))?;
        }
        let tables = shared.stop_for_copy(&to.join(LOG))?;
        let mut linked_bytes = 0;
        for (table, sorted) in T::ALL.iter().zip(&tables) {
            linked_bytes += sorted.write(&to.join(TABLES).join(table.name()))?;
        }
        sync_directory(&to.join(TABLES))?;
        for entry in std::fs::read_dir(to.join(LOG))? {
            File::open(entry?.path())?.sync_all()?;
        }
        sync_directory(&to.join(LOG))?;
        let inventory = CopyInventory::take(to, &STORED)?;
        directory::finish_copy(to, T::TITLE, &inventory)?;
        Ok(CopyFigures {
            files: inventory.files(),
            bytes: inventory.bytes(),
            linked_bytes,
        })
    }
}

impl StoreState {
    /// Takes the sorted files and a copy of the log while the writer is stopped and no flush runs.
    fn stop_for_copy(&self, log: &Path) -> io::Result<Vec<SortedCopy>> {
        let writer = self.quiet_writer().map_err(io::Error::other)?;
        let tables = self
            .tables
            .iter()
            .map(|table| table.sorted.copy())
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| io::Error::other(describe_tree(&error)))?;
        writer.log.copy_to(log)?;
        Ok(tables)
    }

    /// Returns the writer's lock at a moment when no flush runs. All rows are then in the log's segments or in sorted files.
    fn quiet_writer(&self) -> Result<MutexGuard<'_, Writer>, String> {
        for _ in 0..MOMENTS_MAX {
            self.background.wait_flushed()?;
            let writer = self.lock_writer();
            if !self.background.is_flushing() {
                return self.sound(writer);
            }
        }
        let writer = self.lock_writer();
        self.background.wait_flushed()?;
        self.sound(writer)
    }

    /// Returns the lock, unless a write has failed. It is then unknown which data is durable.
    fn sound<'a>(&self, writer: MutexGuard<'a, Writer>) -> Result<MutexGuard<'a, Writer>, String> {
        match self.poison.get() {
            Some(failure) => Err(failure.message.clone()),
            None => Ok(writer),
        }
    }
}

/// Makes the directory. Returns whether it did not exist before.
fn create_empty(to: &Path) -> io::Result<bool> {
    match std::fs::create_dir(to) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            if std::fs::read_dir(to)?.next().is_some() {
                return Err(io::Error::other("the directory is not empty"));
            }
            Ok(false)
        }
        Err(error) => Err(error),
    }
}
