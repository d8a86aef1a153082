//! Bringing the cache up to date when a node starts: the missing commits, or all rows.

use std::path::{Path, PathBuf};
use std::pin::pin;

use futures_util::{FutureExt, StreamExt};
use primitives::storage::{Reads, TableSet, WriteBatch};
use store::{
    CachePosition, ChangedKey, Embedded, OpenError, Options, POSITION_KEY, decode_commit,
    position_row, read_position,
};
use tokio_postgres::Client;
use tokio_postgres::types::ToSql;

use crate::error::DatabaseError;
use crate::lease::{self, LeaseRow, signed, unsigned};
use crate::session::{PATIENT, within};
use crate::state::DatabaseState;

/// Bytes of rows that are copied to the cache in one commit.
const COPY_BYTES: usize = 1 << 20;
/// Rows between two messages about the progress of a copy.
const TELL_ROWS: u64 = 1_000_000;

/// The keys of commits that the server's present rows do not include, by the commits' numbers.
pub(crate) type Unfolded = Vec<(u64, Vec<ChangedKey>)>;

/// A cache on this machine's disk.
pub(crate) struct Cache<T: TableSet> {
    path: PathBuf,
    options: Options,
    table: T,
    pub(crate) store: Embedded<T>,
    /// The last commit, unless the cache is new.
    position: Option<CachePosition>,
}

impl<T: TableSet> Cache<T> {
    /// Opens the cache, or makes a new one if its files cannot be used.
    pub(crate) fn open(path: &Path, options: &Options, table: T) -> Result<Self, DatabaseError> {
        let store = match Embedded::open(path, options) {
            Ok(store) => store,
            Err(error) if is_damage(&error) => {
                tracing::warn!("{error}: the cache is made anew");
                remove(path)?;
                Embedded::open(path, options)?
            }
            Err(error) => return Err(error.into()),
        };
        let row = store.get(table, POSITION_KEY);
        let row = row.map_err(DatabaseError::Store)?;
        let position = row.and_then(|row| read_position(&row));
        Ok(Self {
            path: path.to_path_buf(),
            options: options.clone(),
            table,
            store,
            position,
        })
    }

    /// Applies all commits up to the server's head. Copies the present rows first if the cache is new, or if commits are gone that it lacks.
    /// Returns the keys of the commits that the server has not folded, unless it only follows another process.
    pub(crate) async fn catch_up(
        mut self,
        client: &Client,
        shared: &DatabaseState,
        follows: bool,
    ) -> Result<(Self, Unfolded), DatabaseError> {
        let DatabaseState {
            target, statements, ..
        } = shared;
        // Another process may write, fold and delete meanwhile.
        let snapshot = "begin isolation level repeatable read read only";
        within(PATIENT, target, client.batch_execute(snapshot)).await?;
        let LeaseRow { database, head, .. } = lease::look(client, target, statements).await?;
        let folded = within(PATIENT, target, client.query_one(&statements.folded, &[])).await?;
        let folded = unsigned(folded.get(0))?;
        shared
            .stats
            .folded
            .store(folded, std::sync::atomic::Ordering::Relaxed);
        // A cache without a commit tells nothing: the schema may have been filled since.
        let known = match self.position.filter(|found| found.number > 0) {
            Some(found) if found.database != database => {
                return Err(DatabaseError::ForeignCache(self.path));
            }
            Some(found) if found.number > head => {
                return Err(DatabaseError::Restored {
                    schema: target.schema.clone(),
                    server: head,
                    known: found.number,
                });
            }
            Some(found) if has_all_after(client, shared, found, head).await? => found.number,
            Some(_) | None => {
                self = self.cleared()?;
                self.copy_rows(client, shared, database).await?;
                folded
            }
        };
        // Another process folds the commits that this one only follows.
        let folded = if follows { head } else { folded };
        let unfolded = self
            .apply_commits(client, shared, database, folded, known, head)
            .await?;
        within(PATIENT, target, client.batch_execute("commit")).await?;
        Ok((self, unfolded))
    }

    /// Returns the id of the holder of a lease.
    pub(crate) fn id(&self) -> String {
        self.store.store_id().to_string()
    }

    /// Replaces the cache by the server's present rows.
    async fn copy_rows(
        &self,
        client: &Client,
        shared: &DatabaseState,
        database: [u8; 16],
    ) -> Result<(), DatabaseError> {
        let sort = |error| DatabaseError::of(&error, &shared.target.shown);
        let none: [&(dyn ToSql + Sync); 0] = [];
        let target = &shared.target;
        let rows = client.query_raw(&shared.statements.rows, none);
        let mut rows = pin!(within(PATIENT, target, rows).await?);
        let (mut batch, mut bytes, mut copied) = (WriteBatch::default(), 0, 0_u64);
        while let Some(row) = within(PATIENT, target, rows.next().map(Ok)).await? {
            let row = row.map_err(sort)?;
            let (number, key, value): (i16, &[u8], &[u8]) = (row.get(0), row.get(1), row.get(2));
            let table = usize::try_from(number).ok().and_then(|at| T::ALL.get(at));
            let table = table.ok_or_else(|| {
                DatabaseError::Server(format!("a row of table {number}, which is unknown"))
            })?;
            batch.put(*table, key, value);
            bytes += key.len() + value.len();
            copied += 1;
            if copied.is_multiple_of(TELL_ROWS) {
                tracing::info!(rows = copied, "copies rows of the database server");
            }
            if bytes >= COPY_BYTES {
                self.write(std::mem::take(&mut batch))?;
                bytes = 0;
            }
        }
        self.write(batch)?;
        tracing::info!(
            rows = copied,
            database = primitives::hex::encode(&database),
            "copied the rows of the database server"
        );
        Ok(())
    }

    /// Applies the commits after `known`. Returns the keys of those after `folded`.
    async fn apply_commits(
        &mut self,
        client: &Client,
        shared: &DatabaseState,
        database: [u8; 16],
        folded: u64,
        known: u64,
        head: u64,
    ) -> Result<Unfolded, DatabaseError> {
        let sort = |error| DatabaseError::of(&error, &shared.target.shown);
        let after = signed(folded.min(known));
        let target = &shared.target;
        let commits = client.query_raw(&shared.statements.commits, [after]);
        let mut commits = pin!(within(PATIENT, target, commits).await?);
        let (mut next, mut unfolded) = (known + 1, Vec::new());
        while let Some(row) = within(PATIENT, target, commits.next().map(Ok)).await? {
            let row = row.map_err(sort)?;
            let (number, fence) = (unsigned(row.get(0))?, unsigned(row.get(2))?);
            let batch = decode_commit::<T>(number, row.get(1)).map_err(DatabaseError::Store)?;
            if number > folded {
                let keys = batch.writes.iter().map(|write| ChangedKey {
                    table: write.table.number(),
                    key: write.key.clone(),
                });
                unfolded.push((number, keys.collect()));
            }
            if number > known {
                if number != next {
                    break;
                }
                self.write_at(database, number, fence, batch)?;
                next += 1;
            }
        }
        if next != head + 1 {
            return Err(DatabaseError::Server(format!(
                "the schema {} lacks commit {next}, its head is {head}",
                shared.target.schema
            )));
        }
        if next == known + 1 {
            // The last commit is never deleted. Before the first one, no fence is compared.
            let fence = fence_of(client, shared, head).await?.unwrap_or(0);
            self.write_at(database, head, fence, WriteBatch::default())?;
        }
        Ok(unfolded)
    }

    /// Writes the rows of a commit, and that it is the last one.
    fn write_at(
        &mut self,
        database: [u8; 16],
        number: u64,
        fence: u64,
        mut batch: WriteBatch<T>,
    ) -> Result<(), DatabaseError> {
        let position = CachePosition {
            database,
            number,
            fence,
        };
        if self.position != Some(position) {
            let row = position_row(self.table, database, number, fence);
            batch.writes.extend(row.writes);
            self.write(batch)?;
            self.position = Some(position);
        }
        Ok(())
    }

    fn write(&self, batch: WriteBatch<T>) -> Result<(), DatabaseError> {
        let written = self.store.write(vec![batch]);
        written.map(drop).map_err(DatabaseError::Store)
    }

    /// Returns an empty cache in the place of this one.
    fn cleared(self) -> Result<Self, DatabaseError> {
        let is_empty = T::ALL.iter().try_fold(true, |empty, table| {
            self.store.last(*table).map(|row| empty && row.is_none())
        });
        if is_empty.map_err(DatabaseError::Store)? {
            return Ok(self);
        }
        let Self {
            path,
            options,
            table,
            store,
            position: _,
        } = self;
        // The folder is locked while a handle is left. This one is the last.
        drop(store);
        remove(&path)?;
        Self::open(&path, &options, table)
    }
}

/// Returns whether the server has every commit after the cache's last one, and has that one too. A server that lost commits may have others of
/// the same numbers.
async fn has_all_after(
    client: &Client,
    shared: &DatabaseState,
    found: CachePosition,
    head: u64,
) -> Result<bool, DatabaseError> {
    if fence_of(client, shared, found.number).await? != Some(found.fence) {
        return Ok(false);
    }
    let after = signed(found.number);
    let values: [&(dyn ToSql + Sync); 1] = [&after];
    let count = client.query_one(&shared.statements.count_after, &values);
    let count = within(PATIENT, &shared.target, count).await?;
    Ok(unsigned(count.get(0))? == head - found.number)
}

/// Returns the fence of a commit, unless it is deleted.
async fn fence_of(
    client: &Client,
    shared: &DatabaseState,
    number: u64,
) -> Result<Option<u64>, DatabaseError> {
    let number = signed(number);
    let values: [&(dyn ToSql + Sync); 1] = [&number];
    let row = client.query_opt(&shared.statements.fence_of, &values);
    let row = within(PATIENT, &shared.target, row).await?;
    row.map(|row| unsigned(row.get(0))).transpose()
}

/// Returns whether the files are useless, so that the cache is made anew.
fn is_damage(error: &OpenError) -> bool {
    match error {
        OpenError::Corrupt { .. }
        | OpenError::Incomplete { .. }
        | OpenError::Unlisted { .. }
        | OpenError::Missing { .. }
        | OpenError::UnknownFormat { .. } => true,
        OpenError::Locked { .. }
        | OpenError::NewerVersion { .. }
        | OpenError::Foreign { .. }
        | OpenError::NotEmpty { .. }
        | OpenError::Io { .. } => false,
    }
}

fn remove(path: &Path) -> Result<(), DatabaseError> {
    match std::fs::remove_dir_all(path) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            Err(DatabaseError::Cache(OpenError::Io {
                path: path.to_path_buf(),
                source,
            }))
        }
        _ => Ok(()),
    }
}
