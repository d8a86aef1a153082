//! The view's one writer.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, params};

use super::connection::keep_plans;
use super::dictionary::Dictionary;
use super::failure::ViewError;
use super::feed::Feed;
use super::progress::ViewProgress;
use super::reader::VaultReader;
use super::rows::{ViewChange, ViewColumn};
use super::schema::{APPLICATION_ID, CREATE, VERSION, clamped, state_id};

/// Ends the name of the file that marks a view as damaged.
const MARKER: &str = "-damaged";

/// Budgets of the view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewOptions {
    /// Database pages the writer keeps in memory, in bytes.
    pub cache_bytes: u64,
    /// Database pages each reader keeps in memory, in bytes.
    pub reader_cache_bytes: u64,
    /// Length of SQLite's own log at which it is moved into the database, in bytes.
    pub wal_bytes: u64,
    /// The columns that contracts declare. A view made for others is dropped and filled again.
    pub columns: Vec<ViewColumn>,
}

impl Default for ViewOptions {
    fn default() -> Self {
        Self {
            cache_bytes: 8 << 20,
            reader_cache_bytes: 2 << 20,
            wal_bytes: 8 << 20,
            columns: Vec::new(),
        }
    }
}

/// The view, open for writing. Feed it with [`VaultView::apply`]; ask through a [`VaultReader`].
pub struct VaultView {
    path: PathBuf,
    options: ViewOptions,
    connection: Connection,
    contracts: Dictionary,
    keys: Dictionary,
    tokens: Dictionary,
    sole_owners: HashSet<i64>,
    progress: ViewProgress,
    rebuilt: Option<String>,
}

impl VaultView {
    /// Opens the view in the file `path`. Makes an empty view if it is missing, damaged, of another version, or ahead of
    /// `ledger_end`, the last sequence of the ledger. The caller then feeds it from [`VaultView::upto`] on.
    pub fn open(path: &Path, options: &ViewOptions, ledger_end: u64) -> Result<Self, ViewError> {
        let opened = if marker(path).exists() {
            Err(ViewError::Damaged {
                path: path.to_path_buf(),
                reason: "it was found damaged when it was last used".into(),
                corrupt: true,
            })
        } else {
            Self::open_existing(path, options, ledger_end)
        };
        match opened {
            Err(ViewError::Damaged { reason, .. }) => {
                tracing::warn!(path = %path.display(), %reason, "the vault's view is dropped and filled again");
                remove(path)?;
                let mut view = Self::open_existing(path, options, ledger_end)?;
                view.rebuilt = Some(reason);
                Ok(view)
            }
            outcome => outcome,
        }
    }

    fn open_existing(
        path: &Path,
        options: &ViewOptions,
        ledger_end: u64,
    ) -> Result<Self, ViewError> {
        let sqlite = |error| ViewError::sqlite(path, error);
        let connection = Connection::open_with_flags(
            path,
            OpenFlags::SQLITE_OPEN_READ_WRITE
                | OpenFlags::SQLITE_OPEN_CREATE
                | OpenFlags::SQLITE_OPEN_NO_MUTEX,
        )
        .map_err(sqlite)?;
        prepare(&connection, options).map_err(sqlite)?;
        let upto = check(&connection, &options.columns)
            .map_err(sqlite)?
            .map_err(|reason| ViewError::Damaged {
                path: path.to_path_buf(),
                reason,
                corrupt: false,
            })?;
        if upto > ledger_end {
            return Err(ViewError::Damaged {
                path: path.to_path_buf(),
                reason: format!("it is at {upto}, ahead of the ledger's end {ledger_end}"),
                corrupt: false,
            });
        }
        let progress = ViewProgress::default();
        progress.set(upto);
        Ok(Self {
            path: path.to_path_buf(),
            options: options.clone(),
            connection,
            contracts: Dictionary::contracts(),
            keys: Dictionary::keys(),
            tokens: Dictionary::tokens(),
            sole_owners: HashSet::new(),
            progress,
            rebuilt: None,
        })
    }

    /// Opens the file again after a failure, as [`VaultView::open`] does. `ledger_end` is the last sequence of the ledger.
    /// Callers that wait for the view's progress continue to wait. No reader may be open: if an empty view is made, closing an
    /// old reader would remove the new database's write-ahead log.
    ///
    /// # Errors
    /// The file can't be opened. Until a later attempt succeeds the view takes no changes.
    pub fn reopen(&mut self, ledger_end: u64) -> Result<(), ViewError> {
        let nothing = Connection::open_in_memory();
        let nothing = nothing.map_err(|error| ViewError::sqlite(&self.path, error))?;
        // Closes the database before it is opened again and before its files are removed.
        drop(std::mem::replace(&mut self.connection, nothing));
        let opened = Self::open(&self.path, &self.options, ledger_end)?;
        let progress = self.progress.clone();
        progress.set(opened.upto());
        *self = Self { progress, ..opened };
        Ok(())
    }

    /// Returns the last ledger sequence that is in the view; 0 if it is empty.
    pub fn upto(&self) -> u64 {
        self.progress.upto()
    }

    /// Returns the reason if an empty view was made when the view was opened.
    pub fn rebuilt(&self) -> Option<&str> {
        self.rebuilt.as_deref()
    }

    /// Returns a handle to wait until the view contains a ledger sequence.
    pub fn progress(&self) -> ViewProgress {
        self.progress.clone()
    }

    /// Opens a separate connection for queries.
    pub fn reader(&self) -> Result<VaultReader, ViewError> {
        VaultReader::open(&self.path, self.options.reader_cache_bytes)
    }

    /// Adds the changes of all ledger transactions after [`VaultView::upto`] up to and including `upto`, in one database
    /// transaction.
    pub fn apply(&mut self, upto: u64, changes: &[ViewChange]) -> Result<(), ViewError> {
        let outcome = self.apply_all(upto, changes);
        match outcome {
            Ok(()) => self.progress.set(upto),
            Err(_) => {
                self.sole_owners.clear();
                [&mut self.contracts, &mut self.keys, &mut self.tokens]
                    .into_iter()
                    .for_each(Dictionary::clear);
            }
        }
        outcome
    }

    fn apply_all(&mut self, upto: u64, changes: &[ViewChange]) -> Result<(), ViewError> {
        let path = self.path.clone();
        let sqlite = |error| ViewError::sqlite(&path, error);
        let refused = |what: String| ViewError::Refused {
            path: path.clone(),
            what,
        };
        if upto < self.progress.upto() {
            return Err(refused(format!(
                "sequence {upto} after {}",
                self.progress.upto()
            )));
        }
        let mut feed = Feed {
            transaction: self.connection.transaction().map_err(sqlite)?,
            contracts: &mut self.contracts,
            keys: &mut self.keys,
            tokens: &mut self.tokens,
            sole_owners: &mut self.sole_owners,
            columns: &self.options.columns,
            totals: HashMap::new(),
            holdings: HashMap::new(),
        };
        for change in changes {
            match change {
                ViewChange::Produced(state) => {
                    let id = state_id(state.seq, state.output).ok_or_else(|| {
                        refused(format!("output {} of sequence {}", state.output, state.seq))
                    })?;
                    if let Some(what) = feed.refuses(state) {
                        return Err(refused(what));
                    }
                    feed.produce(id, state).map_err(sqlite)?;
                }
                ViewChange::Consumed(state) => feed.consume(state).map_err(sqlite)?,
                ViewChange::Quarantined(state) => feed.quarantine(state).map_err(sqlite)?,
            }
        }
        feed.finish(upto).map_err(sqlite)
    }

    /// Drops the file's contents and starts a new view: it is at 0 and is to be fed from the ledger's beginning. No other process
    /// or thread may have the file open.
    pub fn create(path: &Path, options: &ViewOptions) -> Result<Self, ViewError> {
        remove(path)?;
        let mut view = Self::open_existing(path, options, u64::MAX)?;
        view.rebuilt = Some("it was asked to".into());
        Ok(view)
    }

    /// Drops everything; the view is at 0 and is to be fed from the ledger's beginning. Open readers must be opened again.
    pub fn rebuild(self) -> Result<Self, ViewError> {
        let (path, options, progress) = (
            self.path.clone(),
            self.options.clone(),
            self.progress.clone(),
        );
        drop(self);
        let mut view = Self::create(&path, &options)?;
        progress.set(0);
        view.progress = progress;
        Ok(view)
    }

    /// Returns whether the view in a file is marked as damaged.
    pub fn is_condemned(path: &Path) -> bool {
        marker(path).exists()
    }

    /// Marks the view in a file as damaged, so that the next opening starts a new one. The mark is a file next to it. If it
    /// cannot be written, a warning is logged, and the next reader of the view finds the damage again.
    pub fn condemn(path: &Path) {
        if let Err(error) = std::fs::write(marker(path), b"") {
            tracing::warn!(path = %path.display(), %error, "the view can't be marked as damaged");
        }
    }
}

/// See [`VaultView::condemn`].
fn marker(path: &Path) -> PathBuf {
    beside(path, MARKER)
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut file = path.as_os_str().to_owned();
    file.push(suffix);
    file.into()
}

fn prepare(connection: &Connection, options: &ViewOptions) -> rusqlite::Result<()> {
    connection.busy_timeout(std::time::Duration::from_secs(5))?;
    connection.set_prepared_statement_cache_capacity(32);
    keep_plans(connection)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // The ledger is durable. After a power cut the view is consistent, but may lack the last transactions.
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "cache_size", -clamped(options.cache_bytes >> 10))?;
    connection.pragma_update(None, "wal_autocheckpoint", clamped(options.wal_bytes >> 12))?;
    connection.pragma_update(None, "journal_size_limit", clamped(options.wal_bytes))?;
    connection.pragma_update(None, "temp_store", "MEMORY")
}

/// Creates the tables of an empty database, or checks that an existing one is a view of this version. Returns the cursor, or a
/// description of the mismatch.
fn check(connection: &Connection, columns: &[ViewColumn]) -> rusqlite::Result<Result<u64, String>> {
    let pragma = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if tables == 0 {
        connection.execute_batch(&format!(
            "BEGIN; {CREATE} PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION};"
        ))?;
        for (id, column) in (0i64..).zip(columns) {
            connection.execute(
                "INSERT INTO custom (id, contract, name, kind) VALUES (?1, ?2, ?3, ?4)",
                params![id, column.contract, column.name, column.kind.text()],
            )?;
        }
        connection.execute_batch("COMMIT")?;
    }
    let (application, version) = (pragma("application_id")?, pragma("user_version")?);
    if application != APPLICATION_ID || version != VERSION {
        return Ok(Err(format!(
            "application {application:#x}, schema version {version}"
        )));
    }
    let mut select = connection.prepare("SELECT contract, name, kind FROM custom ORDER BY id")?;
    let rows = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let held: Vec<(String, String, String)> = rows.collect::<rusqlite::Result<_>>()?;
    let same = |(held, column): (&(String, String, String), &ViewColumn)| {
        held.0 == column.contract && held.1 == column.name && held.2 == column.kind.text()
    };
    if held.len() != columns.len() || !held.iter().zip(columns).all(same) {
        return Ok(Err("the columns that contracts declare have changed".into()));
    }
    let upto: i64 = connection.query_row("SELECT upto FROM cursor", [], |row| row.get(0))?;
    Ok(u64::try_from(upto).map_err(|_| format!("its cursor is {upto}")))
}

fn remove(path: &Path) -> Result<(), ViewError> {
    // The database before its log, which is none of any other's; the mark last: a crash in between comes here again.
    for suffix in ["", "-wal", "-shm", MARKER] {
        let file = beside(path, suffix);
        match std::fs::remove_file(&file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(ViewError::Failed {
                    path: file,
                    reason: error.to_string(),
                });
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::VaultReader;
    use rusqlite::StatementStatus;

    #[test]
    fn what_is_bound_prepares_no_statement_anew() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("vault.sqlite");
        let view = VaultView::open(&path, &ViewOptions::default(), 0).expect("a new view");
        let reader = VaultReader::open(&path, 1 << 20).expect("it is there");
        let plain = Connection::open(&path).expect("it is there");
        for (name, connection, anew) in [
            ("writer", &view.connection, false),
            ("reader", &reader.connection, false),
            ("as the library has it", &plain, true),
        ] {
            let mut select = connection
                .prepare("SELECT id FROM state WHERE id > ?1 LIMIT ?2")
                .expect("good SQL");
            for number in 0..5 {
                assert!(!select.exists([number, 10 + number]).expect("a query"));
            }
            let times = select.get_status(StatementStatus::RePrepare);
            assert_eq!(times > 0, anew, "{name}: {times} times");
        }
    }
}
