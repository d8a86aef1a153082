//! The rehearsal of an opening: makes the checks of [`Embedded::open`], and gives the rows to read. It never changes a file of the
//! store, and holds its lock for a moment only.
//!
//! ```text
//! SCRATCH/NAME/current, vN     copies
//! SCRATCH/NAME/tables/M        links to the sorted files, because a tree that is opened removes files of its folder
//! memory                       the rows of the log
//! ```

use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lsm_tree::{Cache, DescriptorTable};
use primitives::storage::{Reads, Row, StoreFailure, TableSet};

use crate::custody::{Custody, would_admit};
use crate::directory::{LOG, TABLES, refuse_in_use};
use crate::embedded::{Embedded, log_open_error, refuse_tables_alone, tree_open_error};
use crate::failure::{OpenError, read_failed};
use crate::log::{self, Log, LogRead};
use crate::options::Options;
use crate::sorted::describe_tree;
use crate::sorted_files;
use crate::table::TableStore;

/// The rows of a store that was not opened; cheap to clone.
#[derive(Clone)]
pub struct Rehearsed<T> {
    rows: Arc<Rows>,
    kind: PhantomData<T>,
}

/// The numbers of a rehearsal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RehearsalFigures {
    /// Whether there is no store yet, and an opening would make one.
    pub is_new: bool,
    /// Records of the log read.
    pub records: u64,
    /// Sorted files read and compared with their checksums.
    pub files: u64,
    /// Bytes of these files.
    pub bytes: u64,
    /// Bytes of sorted files that were not compared with their checksums.
    pub unread_bytes: u64,
}

struct Rows {
    store: PathBuf,
    tables: Vec<TableStore>,
    figures: RehearsalFigures,
}

impl<T: TableSet> Embedded<T> {
    /// Makes the checks of [`Embedded::open`] on the store in `path`, and lets `judge` read its rows. Compares sorted files with
    /// their checksums as well, which an opening does not, up to `bytes_max` bytes. Changes no file but those in `scratch`, an
    /// empty folder.
    ///
    /// # Correctness
    /// A process that opens the store meanwhile changes its files, so the lock is tried before and after everything else.
    ///
    /// # Errors
    /// The error of the opening, or [`OpenError::Locked`] if another process has the store open.
    pub fn rehearse<R>(
        path: &Path,
        custody: Option<&Custody>,
        scratch: &Path,
        bytes_max: u64,
        judge: impl FnOnce(Rehearsed<T>) -> R,
    ) -> Result<R, OpenError> {
        refuse_in_use(path)?;
        let judged = Rehearsed::of(path, custody, scratch, bytes_max).map(judge);
        refuse_in_use(path)?;
        judged
    }
}

impl<T: TableSet> Rehearsed<T> {
    fn of(
        path: &Path,
        custody: Option<&Custody>,
        scratch: &Path,
        bytes_max: u64,
    ) -> Result<Self, OpenError> {
        let names: Vec<&str> = T::ALL.iter().map(|table| table.name()).collect();
        let reach = would_admit(path, T::TITLE, &names, custody)?;
        let mut figures = RehearsalFigures {
            is_new: reach.is_none(),
            ..RehearsalFigures::default()
        };
        let mut budget = bytes_max;
        for name in names {
            let folder = path.join(TABLES).join(name);
            look(&folder, &mut budget, &mut figures)?;
            let to = scratch.join(name);
            let linked = sorted_files::link(&folder, &to)
                .map_err(|source| OpenError::Io { path: to, source })?;
            linked.map_err(|(path, reason)| OpenError::Corrupt { path, reason })?;
        }
        let options = Options::default();
        let cache = Arc::new(Cache::with_capacity_bytes(options.cache_bytes));
        let files = Arc::new(DescriptorTable::new(options.open_files));
        let tables = T::ALL.iter();
        let tables = tables
            .map(|table| TableStore::open(scratch, table.name(), table.habit(), &cache, &files))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| tree_open_error(path, error))?;
        let log_folder = path.join(LOG);
        let mut found = LogRead::default();
        // An opening makes the folder.
        if log_folder.exists() || reach > Some(0) {
            let mut apply = |row: log::Row<'_>| {
                let table = tables.get(usize::from(row.table));
                if let Some(table) = table {
                    table.apply(vec![(row.key.to_vec(), row.value.map(<[u8]>::to_vec))]);
                }
                table.is_some()
            };
            let read = Log::inspect(&log_folder, reach.unwrap_or(0), &mut apply, &mut found);
            read.map_err(|error| log_open_error(path, error))?;
        }
        figures.records = found.records;
        refuse_tables_alone(found.last == 0, &tables, &log_folder)?;
        Ok(Self {
            rows: Arc::new(Rows {
                store: path.to_path_buf(),
                tables,
                figures,
            }),
            kind: PhantomData,
        })
    }

    /// Returns the numbers.
    pub fn figures(&self) -> RehearsalFigures {
        self.rows.figures
    }

    fn table(&self, table: T) -> &TableStore {
        &self.rows.tables[usize::from(table.number())]
    }

    fn read_error(&self, table: T, error: lsm_tree::Error) -> StoreFailure {
        let path = self.rows.store.join(TABLES).join(table.name());
        read_failed(&path, describe_tree(&error))
    }
}

/// Compares a table's sorted files with their checksums, within the budget.
fn look(folder: &Path, budget: &mut u64, figures: &mut RehearsalFigures) -> Result<(), OpenError> {
    if !sorted_files::pointer(folder).exists() {
        return Ok(());
    }
    let mut damage = None;
    let looked = sorted_files::inspect(folder, budget, &mut |path, reason| {
        damage.get_or_insert_with(|| OpenError::Corrupt {
            path: path.to_path_buf(),
            reason,
        });
    });
    figures.files += looked.files;
    figures.bytes += looked.bytes;
    figures.unread_bytes += looked.unread_bytes;
    damage.map_or(Ok(()), Err)
}

impl<T: TableSet> Reads<T> for Rehearsed<T> {
    fn get(&self, table: T, key: &[u8]) -> Result<Option<Vec<u8>>, StoreFailure> {
        let row = self.table(table).get(key);
        row.map_err(|error| self.read_error(table, error))
    }

    fn scan(
        &self,
        table: T,
        from: &[u8],
        to: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<Row>, StoreFailure> {
        let rows = self.table(table).scan(from, to, limit);
        rows.map_err(|error| self.read_error(table, error))
    }

    fn last(&self, table: T) -> Result<Option<Row>, StoreFailure> {
        let row = self.table(table).last();
        row.map_err(|error| self.read_error(table, error))
    }
}
