//! The running connection to the database: its threads, and the port to the committer.

use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use primitives::storage::{Reads, StoreFailure, TableSet};
use store::{BehindServer, ChangedKey, CommitServer, Embedded, Options, ServerCommit};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio_postgres::Client;
use tokio_postgres::types::ToSql;

use crate::cache::Cache;
use crate::commits::Pipeline;
use crate::error::DatabaseError;
use crate::fold::Folder;
use crate::lease::{self, Lease, Moved, unsigned};
use crate::session::{self, PATIENT, within};
use crate::settings::{Settings, Target};
use crate::state::DatabaseState;
use crate::stats::DatabaseFigures;
use crate::vault_batch::VaultSource;
use crate::vault_writer::VaultWriter;

/// Commits that are sent before the first of them is confirmed. While that many are in flight, the next ones are gathered into one.
const IN_FLIGHT_MAX: usize = 8;
/// Pause between two attempts to take a lease that another process holds, at least and at most. An attempt falls on the lease's end.
const TRY_AGAIN_MIN: Duration = Duration::from_millis(10);
const TRY_AGAIN: Duration = Duration::from_millis(200);
/// Pause of a process on standby after a failure.
const RETRY: Duration = Duration::from_secs(1);
/// Time between two messages about a failure that lasts.
const TELL_AGAIN: Duration = Duration::from_secs(60);
/// Time, in addition to a lease, to wait for one that is not renewed.
const PATIENCE: Duration = Duration::from_secs(1);
/// Largest commit, in bytes. The server takes values of up to 1 GiB.
const COMMIT_BYTES_MAX: usize = 256 << 20;

/// The running connection to a database. Dropping it completes the commits in flight, releases the lease and ends the connection. A committer
/// that is dropped later finds its commits refused.
pub struct Database {
    shared: Arc<DatabaseState>,
    fence: i64,
    waited: bool,
    /// Ends the taking of commits.
    close: Option<oneshot::Sender<()>>,
    threads: Vec<JoinHandle<()>>,
}

/// A node's store behind a database.
pub struct Opened<T: TableSet> {
    /// The cache, which has every commit of the server.
    pub cache: Embedded<T>,
    /// The server, for the committer.
    pub behind: BehindServer<T>,
    /// The running connection.
    pub database: Database,
}

/// Connects to a database, makes the tables if they are missing, takes the lease, and brings the cache in the folder `path` up to date. Waits for
/// a lease of another process for a little longer than it lasts, or on standby however long.
///
/// The cache keeps the number of its last commit in the table `position`. The call blocks.
///
/// # Errors
/// See [`DatabaseError`]. No thread keeps running.
pub fn open<T: TableSet>(
    settings: &Settings,
    path: &Path,
    options: &Options,
    position: T,
) -> Result<Opened<T>, DatabaseError> {
    let target = Target::of(settings)?;
    let shared = Arc::new(DatabaseState::new(target));
    let options = Options {
        custody: None,
        sync_commits: false,
        commit_bytes_max: options.commit_bytes_max.min(COMMIT_BYTES_MAX),
        ..options.clone()
    };
    let (path, options) = (path.to_path_buf(), options.clone());
    let open_cache = move || Cache::open(&path, &options, position);
    // The caller may run on a thread of a runtime, which must not drive another one.
    let start = std::thread::Builder::new()
        .name("database".into())
        .spawn({
            let shared = Arc::clone(&shared);
            move || -> Result<_, DatabaseError> {
                let runtime = runtime()?;
                let ready = runtime.block_on(start(&shared, open_cache))?;
                Ok((runtime, ready))
            }
        })
        .map_err(|error| DatabaseError::System(format!("cannot start a thread: {error}")))?;
    let joined = start.join();
    let (runtime, ready) = joined
        .map_err(|_| DatabaseError::System("the start of the database panicked".into()))??;
    let Ready {
        client,
        cache,
        database,
        lease,
        waited,
    } = ready;
    let (queue, commits) = unbounded_channel();
    let (close, closed) = oneshot::channel();
    let server = Arc::new(Server {
        shared: Arc::clone(&shared),
        queue,
    });
    let pipeline = Pipeline::new(Arc::clone(&shared), lease, commits, closed);
    let threads = start_threads(&shared, runtime, client, lease, pipeline, &cache)?;
    Ok(Opened {
        behind: BehindServer {
            server,
            database,
            last: lease.head,
            fence: unsigned(lease.fence)?,
            position,
            in_flight_max: IN_FLIGHT_MAX,
        },
        cache,
        database: Database {
            shared,
            fence: lease.fence,
            waited,
            close: Some(close),
            threads,
        },
    })
}

struct Ready<T: TableSet> {
    client: Client,
    cache: Embedded<T>,
    database: [u8; 16],
    lease: Lease,
    waited: bool,
}

async fn start<T: TableSet>(
    shared: &DatabaseState,
    open_cache: impl Fn() -> Result<Cache<T>, DatabaseError>,
) -> Result<Ready<T>, DatabaseError> {
    let (since, mut told_at, mut waited) = (Instant::now(), None, false);
    loop {
        let started = start_once(shared, &open_cache, since, &mut waited).await;
        match started {
            Err(error) if shared.target.standby && may_wait(&error) => {
                let is_due = |at: Instant| at.elapsed() >= TELL_AGAIN;
                if told_at.is_none_or(is_due) {
                    tracing::warn!(
                        code = primitives::Coded::code(&error),
                        "{error}; trying again"
                    );
                    told_at = Some(Instant::now());
                }
                tokio::time::sleep(RETRY).await;
            }
            started => return started,
        }
    }
}

/// Returns whether a process on standby waits until the cause is gone.
fn may_wait(error: &DatabaseError) -> bool {
    error.may_pass() || matches!(error, DatabaseError::ImportCutShort { .. })
}

async fn start_once<T: TableSet>(
    shared: &DatabaseState,
    open_cache: &impl Fn() -> Result<Cache<T>, DatabaseError>,
    since: Instant,
    waited: &mut bool,
) -> Result<Ready<T>, DatabaseError> {
    let (client, database) = connect(shared).await?;
    // After an attempt that failed it may have been left in the middle.
    let (cache, lease) = take(shared, &client, open_cache()?, since, waited).await?;
    lease::upgrade(&client, &shared.target, &shared.statements, lease).await?;
    let (cache, client) = catch_up(shared, client, cache, lease).await?;
    Ok(Ready {
        client,
        cache,
        database,
        lease,
        waited: *waited,
    })
}

/// Connects, and makes the tables if they are missing. Returns the database's id.
async fn connect(shared: &DatabaseState) -> Result<(Client, [u8; 16]), DatabaseError> {
    let DatabaseState {
        target, statements, ..
    } = shared;
    let client = session::connect(target).await?;
    lease::prepare(&client, target, statements).await?;
    let found = lease::look(&client, target, statements).await?;
    if found.node != target.node {
        return Err(DatabaseError::ForeignSchema {
            schema: target.schema.clone(),
        });
    }
    Ok((client, found.database))
}

/// Takes the lease. If another process has it, waits for a little longer than the lease lasts, or on standby however long, and then follows the
/// commits. Sets `waited` if another process has it.
async fn take<T: TableSet>(
    shared: &DatabaseState,
    client: &Client,
    mut cache: Cache<T>,
    since: Instant,
    waited: &mut bool,
) -> Result<(Cache<T>, Lease), DatabaseError> {
    let DatabaseState {
        target, statements, ..
    } = shared;
    let mut announced = false;
    loop {
        // A process with the same cache folder is dead, because the folder is locked. So its lease may be taken at once.
        let id = cache.id();
        let found = lease::look(client, target, statements).await?;
        let schema = || target.schema.clone();
        match found.moved {
            Moved::No => {}
            Moved::Importing => return Err(DatabaseError::ImportCutShort { schema: schema() }),
            Moved::Exported(fence) => {
                return Err(DatabaseError::Moved {
                    schema: schema(),
                    fence,
                });
            }
        }
        // A process on standby never begins a ledger.
        let waits = target.standby && found.head == 0;
        if !waits
            && let Some(lease) = lease::take(client, target, statements, id.as_bytes()).await?
        {
            let schema = target.schema.as_str();
            tracing::info!(schema, fence = lease.fence, "took the lease of the schema");
            if announced {
                lease::withdraw(client, target, statements).await?;
            }
            return Ok((cache, lease));
        }
        *waited = true;
        let holder = found.holder;
        if !target.standby && since.elapsed() > target.lease + PATIENCE {
            return Err(DatabaseError::Held {
                schema: target.schema.clone(),
                holder,
            });
        }
        if !announced {
            lease::announce(client, target, statements).await?;
            let schema = target.schema.as_str();
            tracing::warn!(schema, holder, "waits for the lease of the schema");
            announced = true;
        }
        if target.standby && !waits {
            (cache, _) = cache.catch_up(client, shared, true).await?;
        }
        tokio::time::sleep(found.left.clamp(TRY_AGAIN_MIN, TRY_AGAIN)).await;
    }
}

async fn catch_up<T: TableSet>(
    shared: &DatabaseState,
    client: Client,
    cache: Cache<T>,
    lease: Lease,
) -> Result<(Embedded<T>, Client), DatabaseError> {
    let before = cache.id();
    // The copy of many rows may take longer than the lease lasts.
    let (cache, unfolded) = tokio::select! {
        caught_up = cache.catch_up(&client, shared, false) => caught_up?,
        lost = keep_lease(shared, lease) => return Err(lost),
    };
    if cache.id() != before {
        let id = cache.id();
        let values: [&(dyn ToSql + Sync); 2] = [&lease.fence, &id.as_bytes()];
        let renamed = client.execute(&shared.statements.rename, &values);
        within(PATIENT, &shared.target, renamed).await?;
    }
    let folded = shared.stats.figures().folded;
    shared.changes.begin(folded);
    for (number, keys) in unfolded {
        shared.changes.load(number, keys);
    }
    Ok((cache.store, client))
}

/// Renews the lease on a connection of its own, until it is lost.
async fn keep_lease(shared: &DatabaseState, lease: Lease) -> DatabaseError {
    let DatabaseState {
        target, statements, ..
    } = shared;
    loop {
        // If there is no connection, the start fails on its own one, or the pipeline renews the lease later.
        if let Ok(client) = session::connect(target).await {
            let lease_ms = lease::millis(target.lease);
            let values: [&(dyn ToSql + Sync); 2] = [&lease.fence, &lease_ms];
            while let Ok(renewed) = within(
                PATIENT,
                target,
                client.query_opt(&statements.renew, &values),
            )
            .await
            {
                if renewed.is_none() {
                    return DatabaseError::Deposed {
                        schema: target.schema.clone(),
                        holder: "a process that has a newer lease".into(),
                    };
                }
                tokio::time::sleep(target.lease / 3).await;
            }
        }
        tokio::time::sleep(target.lease / 3).await;
    }
}

fn start_threads<T: TableSet>(
    shared: &Arc<DatabaseState>,
    runtime: Runtime,
    client: Client,
    lease: Lease,
    pipeline: Pipeline,
    cache: &Embedded<T>,
) -> Result<Vec<JoinHandle<()>>, DatabaseError> {
    let spawn = |name: &str, work: Box<dyn FnOnce() + Send>| {
        let shared = Arc::clone(shared);
        let guarded = move || {
            if std::panic::catch_unwind(AssertUnwindSafe(work)).is_err() {
                // Without the thread the node would wait for it forever.
                let panicked = DatabaseError::System("a thread of the database panicked".into());
                shared.lose(&panicked.to_failure());
            }
        };
        let thread = std::thread::Builder::new().name(name.into()).spawn(guarded);
        thread.map_err(|error| DatabaseError::System(format!("cannot start a thread: {error}")))
    };
    let reads = cache.clone();
    let folder = Folder {
        shared: Arc::clone(shared),
        fence: lease.fence,
        read: Box::new(
            move |key: &ChangedKey| match T::ALL.get(usize::from(key.table)) {
                Some(table) => reads.get(*table, &key.key),
                None => Ok(None),
            },
        ),
    };
    let fold_runtime = self::runtime()?;
    let fold = spawn(
        "fold",
        Box::new(move || fold_runtime.block_on(folder.run())),
    )?;
    let commits = spawn(
        "database",
        Box::new(move || runtime.block_on(pipeline.run(client))),
    );
    match commits {
        Ok(commits) => Ok(vec![commits, fold]),
        Err(error) => {
            shared.changes.stop();
            // It ends by itself, and a panic was noted.
            let _ = fold.join();
            Err(error)
        }
    }
}

/// Returns a runtime for one thread.
pub(crate) fn runtime() -> Result<Runtime, DatabaseError> {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| DatabaseError::System(format!("cannot start a runtime: {error}")))
}

impl Database {
    /// Calls `told` once, when no commit will be done any more: because another process has the lease, or because the server was away for too
    /// long.
    pub fn on_loss(&self, told: impl Fn(&StoreFailure) + Send + 'static) {
        self.shared.on_loss(Box::new(told));
    }

    /// Returns why no commit will be done any more, if that is so.
    #[must_use]
    pub fn failure(&self) -> Option<StoreFailure> {
        self.shared.failure()
    }

    /// Returns whether this process has waited for another one that had the lease.
    #[must_use]
    pub fn has_waited(&self) -> bool {
        self.waited
    }

    /// Returns the counters for metrics.
    #[must_use]
    pub fn figures(&self) -> DatabaseFigures {
        self.shared.stats.figures()
    }

    /// Returns a function that reads the counters, for metrics.
    pub fn meter(&self) -> impl Fn() -> DatabaseFigures + Send + Sync + 'static {
        let shared = Arc::clone(&self.shared);
        move || shared.stats.figures()
    }

    /// Starts the thread that writes the vault tables until the database is stopped or dropped, or the lease is lost. Its failures are logged
    /// and counted, and do no harm.
    ///
    /// # Errors
    /// The system refuses a thread.
    pub fn write_vault_tables(
        &mut self,
        source: Box<dyn VaultSource>,
    ) -> Result<(), DatabaseError> {
        let writer = VaultWriter {
            shared: Arc::clone(&self.shared),
            fence: self.fence,
            source,
        };
        let runtime = runtime()?;
        let work = move || {
            store::lower_priority();
            let written = AssertUnwindSafe(|| runtime.block_on(writer.run()));
            if std::panic::catch_unwind(written).is_err() {
                // The ledger is not affected, and the next start goes on.
                tracing::error!("the writer of the vault tables panicked");
            }
        };
        let thread = std::thread::Builder::new()
            .name("vault-tables".into())
            .spawn(work)
            .map_err(|error| DatabaseError::System(format!("cannot start a thread: {error}")))?;
        self.threads.push(thread);
        Ok(())
    }

    /// Begins the end: commits in flight are tried for a few seconds only. Call it before the committer is dropped, which waits for them.
    pub fn stop(&self) {
        self.shared.stop();
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        self.stop();
        drop(self.close.take());
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a thread of the database panicked");
            }
        }
    }
}

/// The port to the committer.
struct Server {
    shared: Arc<DatabaseState>,
    queue: UnboundedSender<ServerCommit>,
}

impl CommitServer for Server {
    fn send(&self, commit: ServerCommit) {
        // The committer bounds the number of commits in flight.
        if let Err(unsent) = self.queue.send(commit) {
            (unsent.0.confirm)(Err(self.shared.refusal()));
        }
    }

    fn applied(&self, number: u64, keys: Vec<ChangedKey>) {
        self.shared.changes.add(number, keys);
    }
}
