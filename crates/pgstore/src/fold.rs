//! The present rows on the server: once a second, the rows that the commits have left behind are written there, so that older commits can be
//! deleted and a node without its cache can start.
//!
//! A row's value is read from the cache when it is folded, so the table may hold rows that are newer than the number of its last commit. That
//! does no harm: a reader of the table then applies all later commits in order, and these write the same rows again. Rows that were written
//! and deleted within a second or two, such as journals, never come to the server one by one.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use primitives::storage::StoreFailure;
use store::ChangedKey;
use tokio_postgres::Client;
use tokio_postgres::types::ToSql;

use crate::error::DatabaseError;
use crate::lease::{LeaseRow, look, millis, signed};
use crate::session;
use crate::state::DatabaseState;

/// Time between two folds.
const EVERY: Duration = Duration::from_secs(1);
/// Pause after a failed fold.
const PAUSE: Duration = Duration::from_millis(500);
/// Bytes of keys and values in one statement.
const STATEMENT_BYTES: usize = 4 << 20;
/// Minimum age of deleted commits. A process that was stopped for a shorter time needs no copy of all rows.
const COMMITS_KEPT: Duration = Duration::from_secs(30);
/// Time for one statement. A fold moves a few megabytes.
const ANSWER: Duration = Duration::from_secs(60);

/// Reads a row of the cache.
pub(crate) type ReadRow = Box<dyn Fn(&ChangedKey) -> Result<Option<Vec<u8>>, StoreFailure> + Send>;

/// Folds until the node stops or the lease is lost.
pub(crate) struct Folder {
    pub(crate) shared: Arc<DatabaseState>,
    pub(crate) fence: i64,
    pub(crate) read: ReadRow,
}

impl Folder {
    pub(crate) async fn run(self) {
        let changes = &self.shared.changes;
        let mut client = None;
        // Keys that wait for the next fold, so that most short-lived rows are gone by then.
        let (mut due, mut number) = changes.take();
        let mut pause = EVERY;
        let mut failing_since: Option<Instant> = None;
        // After a failure nothing makes it hurry, or it would ask a server that is away without a pause.
        while changes.wait(pause, failing_since.is_none()) {
            pause = EVERY;
            let connected = match client.take() {
                Some(client) => Ok(client),
                None => session::connect(&self.shared.target).await,
            };
            let folded = match connected {
                Ok(connected) => {
                    let folded = self.fold(&connected, &due, number).await;
                    client = Some(connected);
                    folded
                }
                Err(error) => Err(error),
            };
            match folded {
                Ok(()) => {
                    failing_since = None;
                    let before = number;
                    (due, number) = changes.take();
                    assert!(number >= before, "folds go forward");
                }
                Err(error)
                    if error.may_pass()
                        && failing_since
                            .is_none_or(|since| since.elapsed() < self.shared.target.give_up) =>
                {
                    if failing_since.is_none() {
                        tracing::warn!(
                            code = primitives::Coded::code(&error),
                            "the present rows on the database server wait: {error}"
                        );
                        failing_since = Some(Instant::now());
                    }
                    (client, pause) = (None, PAUSE);
                }
                Err(error) => {
                    let failure = error.to_failure();
                    self.shared.lose(&failure);
                    changes.stop();
                }
            }
        }
    }

    async fn fold(
        &self,
        client: &Client,
        keys: &HashSet<ChangedKey>,
        number: u64,
    ) -> Result<(), DatabaseError> {
        let stats = &self.shared.stats;
        let before = stats.folded.load(Relaxed);
        if number == before {
            return Ok(());
        }
        // Sorted, so that the server touches neighbouring pages together.
        let mut sorted: Vec<&ChangedKey> = keys.iter().collect();
        sorted.sort();
        let mut part = Part::default();
        for key in sorted {
            let value = (self.read)(key).map_err(DatabaseError::Store)?;
            part.add(key, value);
            if part.bytes >= STATEMENT_BYTES {
                // The number moves with the last part only.
                self.send(client, before, before, &std::mem::take(&mut part))
                    .await?;
            }
        }
        self.send(client, before, number, &part).await?;
        stats.folded.store(number, Relaxed);
        let kept = millis(COMMITS_KEPT);
        let values: [&(dyn ToSql + Sync); 2] = [&kept, &self.fence];
        let pruned = client.execute(&self.shared.statements.prune, &values);
        self.answer(pruned).await?;
        Ok(())
    }

    /// Sends rows whose values were read before. `before` is the number that the server's rows include until now, `number` the new one.
    async fn send(
        &self,
        client: &Client,
        before: u64,
        number: u64,
        part: &Part,
    ) -> Result<(), DatabaseError> {
        let DatabaseState {
            target, statements, ..
        } = &*self.shared;
        let (before, number) = (signed(before), signed(number));
        // No value is of a later commit. A server that lost one of these commits must not get the values.
        let confirmed = signed(self.shared.stats.confirmed.load(Relaxed));
        let values = part.values_of([&number, &self.fence, &before, &confirmed]);
        let sent = client.query_opt(&statements.fold, &values);
        if self.answer(sent).await?.is_none() {
            let (folded, found) = self.look(client).await?;
            if found.fence > self.fence {
                return Err(DatabaseError::Deposed {
                    schema: target.schema.clone(),
                    holder: found.holder,
                });
            }
            if folded == number && number > before {
                // A late statement of a lost connection has done it.
                return Ok(());
            }
            let known = self.shared.stats.confirmed.load(Relaxed);
            if found.fence < self.fence || found.head < known {
                return Err(DatabaseError::Restored {
                    schema: target.schema.clone(),
                    server: found.head,
                    known,
                });
            }
            return Err(DatabaseError::Server(format!(
                "the present rows of the schema {} end at commit {folded}, expected {before}",
                target.schema
            )));
        }
        let rows = part.gone_keys.len() + part.keys.len();
        self.shared
            .stats
            .rows_folded
            .fetch_add(rows as u64, Relaxed);
        Ok(())
    }

    /// Reads the number of the last commit that the present rows include, and the lease.
    async fn look(&self, client: &Client) -> Result<(i64, LeaseRow), DatabaseError> {
        let DatabaseState {
            target, statements, ..
        } = &*self.shared;
        let folded = self
            .answer(client.query_one(&statements.folded, &[]))
            .await?;
        let found = self.answer(async { Ok(look(client, target, statements).await) });
        Ok((folded.get(0), found.await??))
    }

    async fn answer<T>(
        &self,
        answer: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, DatabaseError> {
        session::within(ANSWER, &self.shared.target, answer).await
    }
}

/// The rows of one statement.
#[derive(Default)]
pub(crate) struct Part {
    gone_tables: Vec<i16>,
    gone_keys: Vec<Vec<u8>>,
    tables: Vec<i16>,
    keys: Vec<Vec<u8>>,
    values: Vec<Vec<u8>>,
    pub(crate) bytes: usize,
}

impl Part {
    /// Returns the values of the statement.
    pub(crate) fn values_of<'a>(
        &'a self,
        [number, fence, before, confirmed]: [&'a i64; 4],
    ) -> [&'a (dyn ToSql + Sync); 9] {
        [
            number,
            fence,
            &self.gone_tables,
            &self.gone_keys,
            &self.tables,
            &self.keys,
            &self.values,
            before,
            confirmed,
        ]
    }

    pub(crate) fn add(&mut self, key: &ChangedKey, value: Option<Vec<u8>>) {
        self.bytes += key.key.len() + value.as_ref().map_or(0, Vec::len);
        match value {
            Some(value) => {
                self.tables.push(key.table.into());
                self.keys.push(key.key.clone());
                self.values.push(value);
            }
            None => {
                self.gone_tables.push(key.table.into());
                self.gone_keys.push(key.key.clone());
            }
        }
    }
}
