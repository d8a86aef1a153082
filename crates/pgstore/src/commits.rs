//! The pipeline of commits: one statement for each, several in flight, confirmed in order, and read back if their outcome is unknown.
//!
//! ```text
//!            send              answer 1 row            confirm
//! queue ───────────► waiting ───────────────► front ───────────► committer
//!                       ▲                       │ error, or no row
//!                       │ the others again      ▼
//!                       └────────── reopen, read the head, confirm what it includes
//! ```

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use futures_util::future::{Either, Fuse, FusedFuture, FutureExt};
use futures_util::stream::{FuturesOrdered, StreamExt};
use primitives::storage::StoreFailure;
use store::{Confirm, ServerCommit};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::{oneshot, watch};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Statement};

use crate::error::DatabaseError;
use crate::lease::{Lease, look, millis, signed, unsigned};
use crate::session::{self, within};
use crate::state::DatabaseState;

/// Time after which an unanswered statement counts as one of a lost connection, without the time to send it.
const ANSWER: Duration = Duration::from_secs(10);
/// The slowest connection on which commits of any size are answered in time, in bytes a second.
const BYTES_PER_S_MIN: u64 = 256 << 10;
/// Pauses between attempts to reach the server, at least and at most.
const PAUSE_MIN: Duration = Duration::from_millis(20);
const PAUSE_MAX: Duration = Duration::from_millis(500);
/// Time limit for the commits in flight while the node stops.
const STOP: Duration = Duration::from_secs(3);

/// A commit that is not confirmed yet.
struct Waiting {
    number: u64,
    rows: Arc<Vec<u8>>,
    confirm: Confirm,
}

/// The answer to a statement of the pipeline.
enum Answer {
    /// Rows that a commit added: 1, or 0 if the fence or the head differs.
    Commit(Result<u64, DatabaseError>),
    /// The renewed lease, or `None` if the fence differs.
    Renewal(Result<Option<Renewed>, DatabaseError>),
}

/// A renewal of the lease.
struct Renewed {
    /// When the lease ends on this process's clock, or earlier than on the server's.
    ends: Instant,
    /// Whether another process waits for the lease.
    is_wanted: bool,
}

/// Why the pipeline stops sending on a connection.
enum Halt {
    /// All commits are confirmed, and the queue is closed.
    Finished,
    /// The head must be read, on this connection.
    ReadBack,
    /// The connection is of no use.
    Lost(DatabaseError),
}

pub(crate) struct Pipeline {
    shared: Arc<DatabaseState>,
    lease: Lease,
    queue: UnboundedReceiver<ServerCommit>,
    /// Completes when no more commits are to be taken.
    close: Fuse<oneshot::Receiver<()>>,
    waiting: VecDeque<Waiting>,
    /// The end of the lease if another process waits for it. A lease that no process waits for may be renewed late.
    lease_end: watch::Sender<Option<Instant>>,
    /// The moment of the first failure since the last confirmation, or since a renewal of the lease while no commit waited.
    failing_since: Option<Instant>,
    /// The pause before the next connection. There is none before the first one after a confirmation.
    pause: Option<Duration>,
}

impl Pipeline {
    pub(crate) fn new(
        shared: Arc<DatabaseState>,
        lease: Lease,
        queue: UnboundedReceiver<ServerCommit>,
        close: oneshot::Receiver<()>,
    ) -> Self {
        shared.stats.confirmed.store(lease.head, Relaxed);
        Self {
            shared,
            lease,
            queue,
            close: close.fuse(),
            waiting: VecDeque::new(),
            lease_end: watch::Sender::new(None),
            failing_since: None,
            pause: None,
        }
    }

    /// Runs until the queue is closed and every commit is confirmed, until one fails for good, or until the lease ends and another process
    /// waits for it. Then every later one fails.
    pub(crate) async fn run(mut self, client: Client) {
        let lease_end = self.lease_end.subscribe();
        let schema = self.shared.target.schema.clone();
        let done = tokio::select! {
            biased;
            done = self.commit_all(client) => done,
            () = reached(lease_end) => Err(DatabaseError::LeaseEnded { schema }),
        };
        if let Err(error) = done {
            let failure = error.to_failure();
            tracing::error!(
                code = failure.code,
                hint = failure.hint,
                "{}",
                failure.message
            );
            self.refuse_all(&failure);
        }
    }

    async fn commit_all(&mut self, mut client: Client) -> Result<(), DatabaseError> {
        loop {
            let halt = match self.prepare(&client).await {
                Ok(statements) => self.send(&client, &statements).await,
                Err(error) => Halt::Lost(error),
            };
            match halt {
                Halt::Finished => return self.release(&client).await,
                Halt::ReadBack => {}
                Halt::Lost(error) => {
                    self.note_failure(error)?;
                    client = self.reconnect().await?;
                    continue;
                }
            }
            if let Err(error) = self.read_back(&client).await {
                self.note_failure(error)?;
                client = self.reconnect().await?;
            }
        }
    }

    async fn prepare(&self, client: &Client) -> Result<[Statement; 2], DatabaseError> {
        let DatabaseState {
            target, statements, ..
        } = &*self.shared;
        let commit = client.prepare(&statements.commit);
        let commit = within(ANSWER, target, commit).await?;
        let renew = client.prepare(&statements.renew);
        Ok([commit, within(ANSWER, target, renew).await?])
    }

    /// Sends what waits and what comes, until the connection fails or an answer shows that the head differs.
    async fn send(&mut self, client: &Client, [commit, renew]: &[Statement; 2]) -> Halt {
        let shared = Arc::clone(&self.shared);
        let (fence, lease_ms) = (self.lease.fence, millis(shared.target.lease));
        let target = &shared.target;
        let execute = |waiting: &Waiting, bytes: u64| {
            let (number, rows) = (signed(waiting.number), Arc::clone(&waiting.rows));
            let limit = ANSWER + Duration::from_secs(bytes / BYTES_PER_S_MIN);
            async move {
                let rows = rows.as_slice();
                let values: [&(dyn ToSql + Sync); 3] = [&number, &fence, &rows];
                let done = client.execute(commit, &values);
                Answer::Commit(within(limit, target, done).await)
            }
        };
        let renewal = |bytes: u64| {
            let limit = ANSWER + Duration::from_secs(bytes / BYTES_PER_S_MIN);
            let ends = Instant::now() + target.lease;
            async move {
                let values: [&(dyn ToSql + Sync); 2] = [&fence, &lease_ms];
                let renewed = client.query_opt(renew, &values);
                let renewed = within(limit, target, renewed).await;
                Answer::Renewal(renewed.map(|row| {
                    row.map(|row| Renewed {
                        ends,
                        is_wanted: row.get(1),
                    })
                }))
            }
        };
        let mut answers = FuturesOrdered::new();
        let mut bytes = 0;
        for waiting in &self.waiting {
            bytes += waiting.rows.len() as u64;
            answers.push_back(Either::Left(execute(waiting, bytes)));
        }
        let mut renewals = tokio::time::interval(shared.target.lease / 3);
        renewals.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut is_open = true;
        loop {
            tokio::select! {
                biased;
                Some(answer) = answers.next(), if !answers.is_empty() => match answer {
                    Answer::Commit(Ok(1)) => self.confirm_front(),
                    Answer::Renewal(Ok(Some(renewed))) => {
                        self.note_renewal(&renewed);
                        if self.failing_since.is_none() {
                            self.pause = None;
                        }
                    }
                    Answer::Commit(Ok(_)) | Answer::Renewal(Ok(_)) => {
                        // The later commits have found a wrong head too, or are confirmed by the head that is read next.
                        while answers.next().await.is_some() {}
                        return Halt::ReadBack;
                    }
                    Answer::Commit(Err(error)) | Answer::Renewal(Err(error)) => {
                        return Halt::Lost(error);
                    }
                },
                commit = self.queue.recv(), if is_open => match commit {
                    Some(ServerCommit { number, rows, confirm }) => {
                        let waiting = Waiting { number, rows: Arc::new(rows), confirm };
                        self.waiting.push_back(waiting);
                        let bytes = self.waiting_bytes();
                        let last = self.waiting.back().expect("it was pushed");
                        answers.push_back(Either::Left(execute(last, bytes)));
                    }
                    None => is_open = false,
                },
                _ = &mut self.close, if !self.close.is_terminated() => self.queue.close(),
                _ = renewals.tick(), if is_open => {
                    answers.push_back(Either::Right(renewal(self.waiting_bytes())));
                }
                else => return Halt::Finished,
            }
        }
    }

    /// Reads the head and the fence. Confirms the commits that the head includes.
    async fn read_back(&mut self, client: &Client) -> Result<(), DatabaseError> {
        let shared = Arc::clone(&self.shared);
        let DatabaseState {
            target, statements, ..
        } = &*shared;
        shared.stats.read_back.fetch_add(1, Relaxed);
        let known = shared.stats.confirmed.load(Relaxed);
        let restored = |server| DatabaseError::Restored {
            schema: target.schema.clone(),
            server,
            known,
        };
        let (fence, lease_ms) = (self.lease.fence, millis(target.lease));
        let values: [&(dyn ToSql + Sync); 2] = [&fence, &lease_ms];
        let ends = Instant::now() + target.lease;
        let renewed = client.query_opt(&statements.renew, &values);
        let Some(row) = within(ANSWER, target, renewed).await? else {
            let looked = within(ANSWER, target, async {
                Ok(look(client, target, statements).await)
            });
            let found = looked.await??;
            return Err(match found.fence < fence {
                true => restored(found.head),
                false => DatabaseError::Deposed {
                    schema: target.schema.clone(),
                    holder: found.holder,
                },
            });
        };
        self.note_renewal(&Renewed {
            ends,
            is_wanted: row.get(1),
        });
        let head = unsigned(row.get(0))?;
        if head < known {
            return Err(restored(head));
        }
        let last = self.waiting.back().map_or(known, |last| last.number);
        if head > last {
            return Err(DatabaseError::Server(format!(
                "the schema {} has commit {head}, expected at most {last}",
                target.schema
            )));
        }
        while self
            .waiting
            .front()
            .is_some_and(|first| first.number <= head)
        {
            self.confirm_front();
        }
        Ok(())
    }

    /// Connects again, with growing pauses, and reads the head.
    async fn reconnect(&mut self) -> Result<Client, DatabaseError> {
        loop {
            if let Some(pause) = self.pause {
                // Half of the pause is random, so that many nodes do not return together.
                tokio::time::sleep(pause / 2 + random_share(pause / 2)).await;
            }
            self.pause = Some(
                self.pause
                    .map_or(PAUSE_MIN, |pause| (pause * 2).min(PAUSE_MAX)),
            );
            let connected = match session::connect(&self.shared.target).await {
                Ok(client) => self.read_back(&client).await.map(|()| client),
                Err(error) => Err(error),
            };
            match connected {
                Ok(client) => {
                    self.shared.stats.reconnections.fetch_add(1, Relaxed);
                    tracing::info!(database = self.shared.target.shown, "connected again");
                    return Ok(client);
                }
                Err(error) => self.note_failure(error)?,
            }
        }
    }

    /// Returns the error if it is final, or has lasted too long.
    fn note_failure(&mut self, error: DatabaseError) -> Result<(), DatabaseError> {
        let since = *self.failing_since.get_or_insert_with(|| {
            tracing::warn!(
                code = primitives::Coded::code(&error),
                "{error}; trying again"
            );
            Instant::now()
        });
        let patience = match self.shared.is_stopping() {
            true => STOP,
            false => self.shared.target.give_up,
        };
        if !error.may_pass() || since.elapsed() >= patience {
            return Err(error);
        }
        Ok(())
    }

    fn note_renewal(&mut self, renewed: &Renewed) {
        let end = renewed.is_wanted.then_some(renewed.ends);
        self.lease_end.send_replace(end);
        // If a commit waits, its confirmation ends the failure. A full server can renew a lease.
        if self.waiting.is_empty() {
            self.failing_since = None;
        }
    }

    fn waiting_bytes(&self) -> u64 {
        let bytes = self.waiting.iter().map(|waiting| waiting.rows.len() as u64);
        bytes.sum()
    }

    fn confirm_front(&mut self) {
        let Some(Waiting {
            number, confirm, ..
        }) = self.waiting.pop_front()
        else {
            return;
        };
        (self.failing_since, self.pause) = (None, None);
        let before = self.shared.stats.confirmed.swap(number, Relaxed);
        assert!(number == before + 1, "commits are confirmed in order");
        confirm(Ok(()));
    }

    async fn release(&self, client: &Client) -> Result<(), DatabaseError> {
        // If it fails, the lease ends by itself.
        let values: [&(dyn ToSql + Sync); 1] = [&self.lease.fence];
        let released = client.execute(&self.shared.statements.release, &values);
        if let Err(error) = within(ANSWER, &self.shared.target, released).await {
            tracing::warn!(
                code = primitives::Coded::code(&error),
                "the lease was not released: {error}"
            );
        }
        Ok(())
    }

    /// Fails every commit that waits. Later ones find the queue closed.
    fn refuse_all(&mut self, failure: &StoreFailure) {
        self.shared.lose(failure);
        for waiting in self.waiting.drain(..) {
            (waiting.confirm)(Err(failure.clone()));
        }
        self.queue.close();
        while let Ok(commit) = self.queue.try_recv() {
            (commit.confirm)(Err(failure.clone()));
        }
    }
}

/// Waits until the end of the lease. Waits forever while it has none.
async fn reached(mut lease_end: watch::Receiver<Option<Instant>>) {
    loop {
        let end = *lease_end.borrow_and_update();
        let moved = lease_end.changed();
        let moved = match end {
            Some(end) => tokio::time::timeout_at(end.into(), moved).await,
            None => Ok(moved.await),
        };
        match moved {
            Ok(Ok(())) => {}
            // The pipeline ends.
            Ok(Err(_)) => return std::future::pending().await,
            Err(_) => return,
        }
    }
}

fn random_share(of: Duration) -> Duration {
    let mut byte = [0];
    // Without random bytes the pause has no random part.
    let _ = getrandom::fill(&mut byte);
    of * u32::from(byte[0]) / 255
}
