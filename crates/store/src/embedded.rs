//! The embedded store: a directory with one log-structured keyspace a table.
//!
//! # Correctness
//! A group of batches goes to the engine as one atomic batch and is synced with `fdatasync` before it becomes visible.
//! `fdatasync` is enough: journal files are created at full length and synced with their directory, so a commit changes
//! only data (and the block map, which `fdatasync` covers), never a size that recovery would need.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use fjall::{Database, Keyspace, PersistMode};
use kernel::port::{Reads, StoreFailure, Table, WriteBatch};

use crate::failure::{OpenError, read_failed, write_failed};
use crate::keyspaces::options_for;
use crate::options::Options;

/// The schema this program writes. Stored in `Meta` under [`SCHEMA_KEY`]; never reuse a number.
const SCHEMA_VERSION: u32 = 1;
const SCHEMA_KEY: &[u8] = b"\0schema";
const SCHEMA_MAGIC: &[u8; 8] = b"tallystk";

/// An open store; cheap to clone. Reads go here, writes through a [`crate::Committer`].
#[derive(Clone)]
pub struct Embedded {
    inner: Arc<Inner>,
}

struct Inner {
    path: PathBuf,
    tables: Vec<Keyspace>,
    poison: OnceLock<StoreFailure>,
    database: Database,
}

impl Embedded {
    /// Opens the store in `path`, creating it where there is none, and recovers what was acknowledged.
    pub fn open(path: &Path, options: &Options) -> Result<Self, OpenError> {
        let fail = |error: fjall::Error| open_error(path, error);
        let database = Database::builder(path)
            .cache_size(options.cache_bytes)
            .max_journaling_size(options.journal_bytes.max(64 << 20))
            .worker_threads(options.worker_threads.max(1))
            .max_cached_files(Some(options.open_files.max(10)))
            .manual_journal_persist(true)
            .open()
            .map_err(fail)?;
        let tables = Table::ALL
            .iter()
            .map(|table| database.keyspace(table.name(), || options_for(*table, options)))
            .collect::<Result<Vec<_>, _>>()
            .map_err(fail)?;
        let store = Self {
            inner: Arc::new(Inner {
                path: path.to_path_buf(),
                tables,
                poison: OnceLock::new(),
                database,
            }),
        };
        store.check_schema()?;
        Ok(store)
    }

    /// The store's directory.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// Why the store refuses writes, once it does.
    pub fn failure(&self) -> Option<StoreFailure> {
        self.inner.poison.get().cloned()
    }

    /// Live bytes of all files under the store's directory.
    pub fn disk_bytes(&self) -> u64 {
        disk_bytes(&self.inner.path)
    }

    /// Writes batches as one atomic, durable unit, later rows winning. After a failure every further call fails.
    ///
    /// This is the committer's entrance; call it directly only in tools and tests.
    pub fn write(&self, batches: &[WriteBatch]) -> Result<(), StoreFailure> {
        if let Some(failure) = self.inner.poison.get() {
            return Err(failure.clone());
        }
        self.write_unchecked(batches).map_err(|error| {
            let failure = write_failed(&self.inner.path, describe(&error));
            self.inner.poison.get_or_init(|| failure).clone()
        })
    }

    fn write_unchecked(&self, batches: &[WriteBatch]) -> fjall::Result<()> {
        let rows: usize = batches.iter().map(|batch| batch.writes.len()).sum();
        if rows == 0 {
            return Ok(());
        }
        // All rows of one engine batch share a sequence number, so only the last write of a key may enter it.
        let mut seen = HashSet::with_capacity(rows);
        let mut batch = fjall::OwnedWriteBatch::with_capacity(self.inner.database.clone(), rows)
            .durability(Some(PersistMode::SyncData));
        for write in batches
            .iter()
            .rev()
            .flat_map(|batch| batch.writes.iter().rev())
        {
            if !seen.insert((write.table, write.key.as_slice())) {
                continue;
            }
            let keyspace = self.keyspace(write.table);
            match &write.value {
                Some(value) => batch.insert(keyspace, write.key.as_slice(), value.as_slice()),
                None => batch.remove(keyspace, write.key.as_slice()),
            }
        }
        batch.commit()
    }

    fn keyspace(&self, table: Table) -> &Keyspace {
        &self.inner.tables[table as usize]
    }

    fn check_schema(&self) -> Result<(), OpenError> {
        let path = self.inner.path.clone();
        let corrupt = |failure: StoreFailure| OpenError::Corrupt {
            path: path.clone(),
            reason: failure.message,
        };
        match self.get(Table::Meta, SCHEMA_KEY).map_err(corrupt)? {
            Some(row) => {
                let found = row
                    .strip_prefix(SCHEMA_MAGIC)
                    .and_then(|rest| <[u8; 4]>::try_from(rest).ok())
                    .map(u32::from_be_bytes);
                match found {
                    Some(SCHEMA_VERSION) => Ok(()),
                    Some(found) if found > SCHEMA_VERSION => Err(OpenError::NewerVersion {
                        path,
                        found,
                        known: SCHEMA_VERSION,
                    }),
                    _ => Err(OpenError::UnknownFormat {
                        path,
                        reason: "its schema row is unreadable".into(),
                    }),
                }
            }
            None => {
                for table in Table::ALL {
                    if self.last(table).map_err(corrupt)?.is_some() {
                        return Err(OpenError::UnknownFormat {
                            path,
                            reason: "it has rows but no schema row".into(),
                        });
                    }
                }
                let mut batch = WriteBatch::default();
                batch.put(
                    Table::Meta,
                    SCHEMA_KEY,
                    [SCHEMA_MAGIC.as_slice(), &SCHEMA_VERSION.to_be_bytes()].concat(),
                );
                self.write(&[batch]).map_err(|failure| OpenError::Io {
                    path: self.inner.path.clone(),
                    source: std::io::Error::other(failure.message),
                })
            }
        }
    }
}

impl Reads for Embedded {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, StoreFailure> {
        match self.keyspace(table).get(key) {
            Ok(value) => Ok(value.map(|value| value.to_vec())),
            Err(error) => Err(self.read_error(error)),
        }
    }

    fn scan(
        &self,
        table: Table,
        from: &[u8],
        to: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<(Vec<u8>, Vec<u8>)>, StoreFailure> {
        let keyspace = self.keyspace(table);
        let rows = match to {
            Some(to) if to <= from => return Ok(Vec::new()),
            Some(to) => keyspace.range(from..to),
            None => keyspace.range(from..),
        };
        rows.take(limit)
            .map(|guard| match guard.into_inner() {
                Ok((key, value)) => Ok((key.to_vec(), value.to_vec())),
                Err(error) => Err(self.read_error(error)),
            })
            .collect()
    }

    fn last(&self, table: Table) -> Result<Option<(Vec<u8>, Vec<u8>)>, StoreFailure> {
        match self
            .keyspace(table)
            .last_key_value()
            .map(fjall::Guard::into_inner)
        {
            None => Ok(None),
            Some(Ok((key, value))) => Ok(Some((key.to_vec(), value.to_vec()))),
            Some(Err(error)) => Err(self.read_error(error)),
        }
    }
}

impl Embedded {
    fn read_error(&self, error: fjall::Error) -> StoreFailure {
        read_failed(&self.inner.path, describe(&error))
    }
}

fn open_error(path: &Path, error: fjall::Error) -> OpenError {
    let path = path.to_path_buf();
    match error {
        fjall::Error::Locked => OpenError::Locked { path },
        fjall::Error::InvalidVersion(found) => OpenError::UnknownFormat {
            path,
            reason: format!("format marker {found:?}"),
        },
        fjall::Error::Io(source) => OpenError::Io { path, source },
        error => OpenError::Corrupt {
            path,
            reason: describe(&error),
        },
    }
}

fn describe(error: &fjall::Error) -> String {
    match error {
        fjall::Error::Io(source) => source.to_string(),
        fjall::Error::Poisoned => "an earlier write, flush or compaction failed".into(),
        error => error.to_string(),
    }
}

fn disk_bytes(path: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(path) else {
        return 0;
    };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(meta) if meta.is_dir() => disk_bytes(&entry.path()),
            // Blocks, not lengths: journals are created at full length but sparse.
            Ok(meta) => std::os::unix::fs::MetadataExt::blocks(&meta) * 512,
            Err(_) => 0,
        })
        .sum()
}
