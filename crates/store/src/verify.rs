//! A check of a store that is not open: every byte that is stored is read and compared with its checksum.

use std::path::{Path, PathBuf};

use primitives::storage::TableSet;

use crate::custody::{Custody, readopt, vouched_tables};
use crate::directory::{Inspected, LOG, TABLES};
use crate::embedded::Embedded;
use crate::failure::OpenError;
use crate::log::{Log, LogError, LogRead};
use crate::sorted_files;

/// Maximum number of damaged files that are named. Further ones are only counted.
pub const DAMAGE_MAX: usize = 1000;

/// The result of a check of a store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Files read: sorted ones and segments of the log.
    pub files: u64,
    /// Bytes of the files read.
    pub bytes: u64,
    /// Records of the log read.
    pub records: u64,
    /// Damages, at most [`DAMAGE_MAX`]; empty for a sound store.
    pub damage: Vec<Damage>,
    /// Damages found, also those not named.
    pub damaged: u64,
}

/// A file that is damaged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The file, or the folder where something is missing.
    pub path: PathBuf,
    /// The finding.
    pub reason: String,
}

impl Checked {
    /// Returns whether nothing is damaged.
    pub fn is_sound(&self) -> bool {
        self.damaged == 0
    }

    fn add(&mut self, path: &Path, reason: String) {
        self.damaged += 1;
        if self.damage.len() < DAMAGE_MAX {
            self.damage.push(Damage {
                path: path.to_path_buf(),
                reason,
            });
        }
    }
}

impl<T: TableSet> Embedded<T> {
    /// Checks the store in `path`, which no process may have open, and changes nothing. Checks that it has these tables, all
    /// checksums of sorted files and of the log's records, and that a copy that was never opened is whole. A record at the very
    /// end of the log that a power cut tore is no damage: it was never acknowledged.
    pub fn verify(path: &Path) -> Result<Checked, OpenError> {
        Self::verify_with(path, None)
    }

    /// Does the same as [`Embedded::verify`], for a store whose inventory is at the place that `custody` names. A table without
    /// a folder is damage, unless the inventory, or the list of a copy that was never opened, shows that the program that last
    /// used the store did not know the table.
    pub fn verify_with(path: &Path, custody: Option<&Custody>) -> Result<Checked, OpenError> {
        let directory = Inspected::open(path, T::TITLE)?;
        let mut checked = Checked::default();
        if let Some(reason) = &directory.difference {
            checked.add(path, reason.clone());
        }
        let is_known = |number: u8| usize::from(number) < T::ALL.len();
        let mut log = LogRead::default();
        match Log::inspect(&path.join(LOG), 0, &mut |row| is_known(row.table), &mut log) {
            Ok(()) => {}
            Err(LogError::Io { path, source }) => checked.add(&path, source.to_string()),
            Err(LogError::Damaged { path, reason }) => checked.add(&path, reason),
            Err(LogError::Cut { path, last, .. }) => {
                checked.add(&path, format!("the log ends at record {last}"));
            }
            Err(LogError::OtherVersion { path, found }) => {
                checked.add(&path, format!("it has log version {found}"));
            }
        }
        checked.files += log.files;
        checked.bytes += log.bytes;
        checked.records = log.records;
        let vouched = vouched_tables(path, custody)?;
        for table in T::ALL {
            let folder = path.join(TABLES).join(table.name());
            let lacked = directory.is_whole_copy
                || vouched
                    .as_ref()
                    .is_some_and(|known| !known.contains(table.name()));
            if lacked && !folder.exists() {
                continue;
            }
            // Without a limit.
            let mut bytes_left = u64::MAX;
            let looked = sorted_files::inspect(&folder, &mut bytes_left, &mut |path, reason| {
                checked.add(path, reason);
            });
            checked.files += looked.files;
            checked.bytes += looked.bytes;
        }
        Ok(checked)
    }

    /// Accepts the store in `path`, which no process may have open, in its present state. Checks every byte, and then lets the
    /// next start make a new inventory of it, under a new id. Use it for a store that was restored from a copy, or whose
    /// inventory is lost.
    ///
    /// # Errors
    /// The store is in use, is not a store, or is damaged. A missing table or file is never accepted.
    pub fn accept(path: &Path, custody: Option<&Custody>) -> Result<Checked, OpenError> {
        let checked = Self::verify_with(path, custody)?;
        if let Some(damage) = checked.damage.first() {
            return Err(OpenError::Corrupt {
                path: damage.path.clone(),
                reason: damage.reason.clone(),
            });
        }
        readopt(path, T::TITLE, custody)?;
        Ok(checked)
    }
}
