//! Writes the vault tables for SQL users, in the background and in the order of the ledger.
//!
//! Each batch is one statement, together with the position that it leads to. A process that lost the lease writes nothing, because the
//! statement compares the fencing token of the lease and the one in the position. Nothing waits for the tables, and no failure here reaches
//! the node: the writer tries again after a pause. Commits are not synced for its statements, because a position that the server loses in a
//! crash takes its rows along.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use primitives::Coded;
use primitives::storage::StoreFailure;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row};

use crate::error::DatabaseError;
use crate::lease::{look, unsigned};
use crate::session;
use crate::state::DatabaseState;
use crate::vault_batch::{VaultBatch, VaultSource};
use crate::vault_values::{BatchValues, number};

/// Pause after which the writer looks for new transactions.
const EVERY: Duration = Duration::from_secs(1);
/// The first pause after a failure. It doubles with each.
const PAUSE_FIRST: Duration = Duration::from_millis(250);
/// The longest such pause.
const PAUSE_LONGEST: Duration = Duration::from_secs(30);
/// Time between two writes of the position while there is nothing to write.
const REFRESH: Duration = Duration::from_secs(5);
/// Time after which a statement that waits for another user's lock on a table is given up.
const LOCK_MS: u32 = 2_000;
/// Time for a statement, on the server.
const STATEMENT_MS: u32 = 20_000;
/// Time for a statement and its answer.
const ANSWER: Duration = Duration::from_secs(30);
/// Time between two looks whether the node stops.
const LOOK: Duration = Duration::from_millis(50);

/// Why the tables were not written.
enum Fault {
    /// They are missing or incomplete, or contradict the ledger.
    Contradicts(String),
    /// Another cause.
    Other(DatabaseError),
    /// The node stops, or another process has the lease.
    End,
}

impl From<DatabaseError> for Fault {
    fn from(error: DatabaseError) -> Self {
        Self::Other(error)
    }
}

impl From<StoreFailure> for Fault {
    fn from(failure: StoreFailure) -> Self {
        Self::Other(DatabaseError::Store(failure))
    }
}

/// The row of the position.
struct Position {
    sequence: u64,
    fence: i64,
    form: String,
    /// Whether no table was emptied since.
    is_whole: bool,
}

impl Position {
    fn of(row: &Row) -> Result<Self, Fault> {
        let read = || -> Result<_, tokio_postgres::Error> {
            Ok((
                row.try_get::<_, i64>(0)?,
                row.try_get(1)?,
                row.try_get(2)?,
                row.try_get(3)?,
            ))
        };
        // Another type than this program made.
        let (sequence, fence, form, is_whole) =
            read().map_err(|error| DatabaseError::Server(error.to_string()))?;
        Ok(Self {
            sequence: unsigned(sequence)?,
            fence,
            form,
            is_whole,
        })
    }
}

/// The connection that writes.
struct Link {
    client: Client,
    position: u64,
    /// When the position was written last.
    written: Instant,
    /// The states in quarantine that the tables show, unless that is unknown.
    quarantined: Option<Vec<(u64, u32)>>,
}

/// Writes until the node stops or the lease is lost.
pub(crate) struct VaultWriter {
    pub(crate) shared: Arc<DatabaseState>,
    pub(crate) fence: i64,
    pub(crate) source: Box<dyn VaultSource>,
}

impl VaultWriter {
    pub(crate) async fn run(self) {
        let mut link = None;
        let mut pause = Duration::ZERO;
        let mut failure_pause = PAUSE_FIRST;
        // The message of the last failure, which is not logged again.
        let mut told: Option<String> = None;
        let mut clears = false;
        while self.shared.changes.wait(pause, false) {
            let began = Instant::now();
            let advanced = match link.take() {
                Some(mut open) => self.advance(&mut open).await.map(|more| (open, more)),
                None => self.open(clears).await.map(|open| (open, true)),
            };
            match advanced {
                Ok((open, true)) => {
                    // The commits have the other half of the time.
                    (link, clears, pause) = (Some(open), false, began.elapsed().min(EVERY));
                }
                Ok((open, false)) => {
                    // Only now: a batch that never succeeds must not have the tables filled again and again without a pause.
                    (link, pause, failure_pause) = (Some(open), EVERY, PAUSE_FIRST);
                    if told.take().is_some() {
                        tracing::info!("the vault tables follow the ledger again");
                    }
                }
                Err(Fault::End) => return,
                Err(fault) => {
                    let message = match &fault {
                        Fault::Contradicts(reason) => {
                            clears = true;
                            format!("they are filled again: {reason}")
                        }
                        Fault::Other(error) => format!("{error} ({})", error.code()),
                        Fault::End => return,
                    };
                    self.shared.stats.vault_failures.fetch_add(1, Relaxed);
                    if told.as_ref() != Some(&message) {
                        tracing::warn!("the vault tables on the database server wait; {message}");
                        told = Some(message);
                    }
                    pause = failure_pause;
                    failure_pause = (failure_pause * 2).min(PAUSE_LONGEST);
                }
            }
        }
    }

    /// Connects and takes the tables over. Makes and empties them first if `clears`, or if they are not whole.
    async fn open(&self, clears: bool) -> Result<Link, Fault> {
        let connect = async { Ok(session::connect(&self.shared.target).await) };
        let client = self.unless_stopped(connect).await??;
        // Consumed states are few among many, and mostly recent ones: looking each up by its key is faster than reading all.
        let set = format!(
            "set synchronous_commit = off; set lock_timeout = {LOCK_MS}; set statement_timeout = {STATEMENT_MS};
             set random_page_cost = 1.1"
        );
        self.answer(client.batch_execute(&set)).await?;
        let reason = match clears {
            true => Some("they contradicted it".to_owned()),
            false => match self.look(&client).await {
                Ok(found) => self.wrong(found.as_ref())?,
                Err(Fault::Contradicts(reason)) => Some(reason),
                Err(fault) => return Err(fault),
            },
        };
        if let Some(reason) = reason {
            tracing::info!(reason, "fills the vault tables from the ledger");
            self.clear(&client).await?;
        }
        let (party, form) = (self.source.party(), self.source.form());
        let values: [&(dyn ToSql + Sync); 3] = [&self.fence, &party, &form];
        let statement = &self.shared.statements.vault.claim;
        let claimed = self.answer(client.query_opt(statement, &values)).await?;
        let Some(row) = claimed else {
            return Err(self.refused(&client, "they were claimed").await?);
        };
        let position = row.try_get(0);
        let position = position.map_err(|error| DatabaseError::Server(error.to_string()))?;
        let position = unsigned(position)?;
        self.shared.stats.vault_upto.store(position, Relaxed);
        Ok(Link {
            client,
            position,
            written: Instant::now(),
            quarantined: None,
        })
    }

    /// Returns why the tables have to be filled again, if that is so.
    fn wrong(&self, found: Option<&Position>) -> Result<Option<String>, Fault> {
        let Some(found) = found else {
            return Ok(Some("there is no position".into()));
        };
        if found.form != self.source.form() {
            return Ok(Some("this program fills them in another form".into()));
        }
        if !found.is_whole {
            return Ok(Some("a table was emptied".into()));
        }
        let (position, end) = (found.sequence, self.source.end()?);
        Ok((position > end)
            .then(|| format!("they are at {position}, ahead of the ledger's end {end}")))
    }

    /// Writes the next batch, and at the ledger's end the states in quarantine. Returns whether another batch waits.
    async fn advance(&self, link: &mut Link) -> Result<bool, Fault> {
        // Read first: the ledger then has every state of the list.
        let quarantined = self.source.quarantined()?;
        let end = self.source.end()?;
        if link.position < end
            && let Some(batch) = self.source.batch(link.position, end)?
        {
            self.write(link, batch, end).await?;
            if link.position < end {
                return Ok(true);
            }
        }
        let found = self.look(&link.client).await?;
        if let Some(reason) = self.wrong(found.as_ref())? {
            return Err(Fault::Contradicts(reason));
        }
        let is_own = |found: Position| found.fence == self.fence && found.sequence == link.position;
        if !found.is_some_and(is_own) {
            return Err(self.refused(&link.client, "the position was read").await?);
        }
        if link.quarantined.as_ref() != Some(&quarantined) {
            self.show_quarantined(&link.client, &quarantined).await?;
            link.quarantined = Some(quarantined);
        }
        if link.written.elapsed() >= REFRESH {
            let (position, end) = (number(link.position)?, number(end)?);
            let values: [&(dyn ToSql + Sync); 3] = [&self.fence, &position, &end];
            let statement = &self.shared.statements.vault.refresh;
            self.answer(link.client.execute(statement, &values)).await?;
            link.written = Instant::now();
        }
        // New transactions wait for the next look, so that they share a statement.
        Ok(false)
    }

    async fn write(&self, link: &mut Link, batch: VaultBatch, end: u64) -> Result<(), Fault> {
        assert!(
            batch.after == link.position && batch.upto > link.position,
            "the batch follows the position"
        );
        let upto = batch.upto;
        let values = BatchValues::of(batch, self.fence, end)?;
        let statement = &self.shared.statements.vault.write;
        let arrays = values.values();
        let sent = link.client.query_opt(statement, &arrays);
        if self.answer(sent).await?.is_none() {
            return Err(self.refused(&link.client, "a batch was written").await?);
        }
        link.position = upto;
        link.written = Instant::now();
        let stats = &self.shared.stats;
        stats.vault_rows.fetch_add(values.rows(), Relaxed);
        stats.vault_upto.store(upto, Relaxed);
        Ok(())
    }

    async fn show_quarantined(&self, client: &Client, states: &[(u64, u32)]) -> Result<(), Fault> {
        let sequences = states.iter().map(|(sequence, _)| number(*sequence));
        let sequences = sequences.collect::<Result<Vec<_>, _>>()?;
        let outputs: Vec<_> = states
            .iter()
            .map(|(_, output)| i64::from(*output))
            .collect();
        let values: [&(dyn ToSql + Sync); 3] = [&self.fence, &sequences, &outputs];
        let statement = &self.shared.statements.vault.quarantine;
        self.answer(client.execute(statement, &values))
            .await
            .map(drop)
    }

    /// Returns why a statement found another fence or another position.
    async fn refused(&self, client: &Client, when: &str) -> Result<Fault, Fault> {
        let target = &self.shared.target;
        let looked = look(client, target, &self.shared.statements);
        let lease = self.unless_stopped(looked).await?;
        if lease.fence != self.fence {
            // The pipeline of commits notices it too, and tells the node.
            return Ok(Fault::End);
        }
        Ok(match self.look(client).await? {
            // A late statement of a lost connection, or a user, has moved it.
            Some(found) if found.fence == self.fence => Fault::Other(DatabaseError::Server(
                format!("the position of the vault tables was changed before {when}"),
            )),
            _ => Fault::Contradicts(format!("the position was changed before {when}")),
        })
    }

    async fn look(&self, client: &Client) -> Result<Option<Position>, Fault> {
        let statement = &self.shared.statements.vault.look;
        let row = self.answer(client.query_opt(statement, &[])).await?;
        row.map(|row| Position::of(&row)).transpose()
    }

    /// Makes missing tables, and empties all. Does nothing if another process has the lease.
    async fn clear(&self, client: &Client) -> Result<(), Fault> {
        let statements = &self.shared.statements.vault;
        self.answer(client.batch_execute(&statements.create))
            .await?;
        let clear = statements.clear.replace("{FENCE}", &self.fence.to_string());
        self.answer(client.batch_execute(&clear)).await
    }

    /// Waits for an answer, unless the node stops.
    async fn answer<T>(
        &self,
        answer: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, Fault> {
        let target = &self.shared.target;
        let sorted = async {
            match tokio::time::timeout(ANSWER, answer).await {
                Ok(Ok(answer)) => Ok(Ok(answer)),
                Ok(Err(error)) if contradicts(&error) => {
                    let error = DatabaseError::of(&error, &target.shown);
                    Ok(Err(Fault::Contradicts(error.to_string())))
                }
                Ok(Err(error)) => Err(DatabaseError::of(&error, &target.shown)),
                Err(_) => Err(DatabaseError::Unreachable {
                    database: target.shown.clone(),
                    reason: format!("no answer within {} s", ANSWER.as_secs()),
                }),
            }
        };
        self.unless_stopped(sorted).await?
    }

    async fn unless_stopped<T>(
        &self,
        work: impl Future<Output = Result<T, DatabaseError>>,
    ) -> Result<T, Fault> {
        let stopped = async {
            while !self.shared.is_stopping() && self.shared.failure().is_none() {
                tokio::time::sleep(LOOK).await;
            }
        };
        tokio::select! {
            done = work => Ok(done?),
            () = stopped => Err(Fault::End),
        }
    }
}

/// Returns whether filling the tables again may help: a table is missing, or a row violates a constraint. A column that is missing does not come
/// back by it.
fn contradicts(error: &tokio_postgres::Error) -> bool {
    error
        .code()
        .is_some_and(|state| *state == SqlState::UNDEFINED_TABLE || state.code().starts_with("23"))
}
