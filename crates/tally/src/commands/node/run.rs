//! `tally node run`: the process of a node.
//!
//! Standard output carries one line of JSON when the node is ready. The log goes to standard error. The first SIGTERM or SIGINT
//! lets running flows end for a while and then stops the node. The second ends the process at once. When the store has failed,
//! the process answers for a while and then exits with a code of its own, so that a supervisor can restart it.

use std::future::Future;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use ledger::Rejection;
use node::bootstrap::load_node_dir;
use node::config::{LogFormat, LogSection};
use node::{Apps, FailedStore, Node};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing_subscriber::EnvFilter;

use crate::Register;
use crate::failure::Failure;
use crate::folder;
use crate::output::{print, stderr_ink};

/// Threads for queries that wait for the disk.
const BLOCKING_THREADS_MAX: usize = 64;
/// Base of the exit code after a signal, as in a shell.
const ENDED_BY_SIGNAL: i32 = 128;

/// Log filter for libraries whose messages any stranger can trigger. The operator's filter may override it.
const QUIET: &str = "libp2p=error,yamux=error,multistream_select=error";

/// Arguments of `tally node run`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The node's folder, as bootstrap made it
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    #[command(flatten)]
    log: LogArgs,
    /// Time for flows to end after the first signal; the others continue after the next start
    #[arg(long, value_name = "SECONDS", default_value_t = 20)]
    drain_seconds: u64,
    /// Threads for connections of clients; the configuration's value by default
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: Option<u16>,
    /// Let the stored flows wait until they are resumed (tally flow resume), so that they can be killed before they run
    #[arg(long)]
    hold_flows: bool,
    /// Wait until another process of this node loses its lease of the database, then take over
    #[arg(long)]
    standby: bool,
}

/// Options of the log.
#[derive(Debug, clap::Args)]
pub struct LogArgs {
    /// The log level, or a filter such as info,node::http=debug; the configuration's value by default
    #[arg(long, value_name = "FILTER", env = "TALLY_LOG")]
    log: Option<String>,
    /// The log format; the configuration's value by default
    #[arg(long, value_enum, value_name = "FORMAT")]
    log_format: Option<Format>,
}

/// The format of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// Plain text
    Text,
    /// One JSON object per line
    Json,
}

impl Args {
    pub fn run(self, register: Register) -> Result<(), Failure> {
        crate::allocator::settle();
        let begin = Instant::now();
        folder::runs_node(&self.folder)?;
        let mut files = load_node_dir(&self.folder).map_err(|error| Failure::coded(&error))?;
        files.config.hospital.hold_flows |= self.hold_flows;
        files.config.database.standby |= self.standby;
        self.log.start(&files.config.log)?;
        let name = files.info.party.name.to_string();
        let mut apps = Apps::built_in().map_err(|error| Failure::coded(&error))?;
        register(&mut apps.contracts, &mut apps.flows).map_err(|error| Failure::coded(&error))?;
        let configured = files.config.limits.io_threads;
        let runtime = io_runtime(self.threads.or((configured > 0).then_some(configured)))?;
        let served = runtime.block_on(async {
            let _file_size = file_size_signal().map_err(|error| system(&error))?;
            let node = Node::start(files, apps)
                .await
                .map_err(|error| Failure::not_started(&error, error.may_pass()))?;
            let signals = Signals::new().map_err(|error| system(&error))?;
            announce(&name, &node, begin)?;
            self.serve(node, signals).await
        });
        // Queries that still wait for the disk do not delay the exit.
        runtime.shutdown_background();
        served
    }

    /// Serves until the first signal, then drains and stops. Also ends if the store has failed and the grace period is over, or at once if another
    /// process has taken over.
    async fn serve(&self, mut node: Node, mut signals: Signals) -> Result<(), Failure> {
        let grace = node.exit_after_failure();
        let ended = tokio::select! {
            number = signals.next() => Ok(number),
            failure = ended_by_store(&mut node, grace) => Err(failure),
        };
        if let Err(FailedStore {
            rejection,
            is_superseded: true,
        }) = ended
        {
            tracing::error!(code = %rejection.code, "the node exits at once because another process takes over");
            node.abandon();
            return Err(store_failed(rejection));
        }
        tokio::spawn(async move {
            let number = signals.next().await;
            tracing::warn!(signal = number, "the node ends at once");
            std::process::exit(ENDED_BY_SIGNAL + number);
        });
        let number = match ended {
            Ok(number) => number,
            Err(FailedStore { rejection, .. }) => {
                tracing::error!(code = %rejection.code, "the node exits because its store has failed");
                node.stop().await;
                return Err(store_failed(rejection));
            }
        };
        tracing::info!(signal = number, "the node drains");
        let patience = Duration::from_secs(self.drain_seconds);
        let drained = tokio::time::timeout(patience, node.drain()).await;
        if drained.is_err() {
            tracing::warn!(
                seconds = self.drain_seconds,
                "flows have not ended; they continue after the next start"
            );
        }
        node.stop().await;
        tracing::info!("the node has stopped");
        match drained {
            Ok(Err(rejection)) => Err(store_failed(rejection)),
            _ => Ok(()),
        }
    }
}

/// Returns the failure of a node's store: after a grace period, in which clients learn the reason, or at once if another process answers them.
async fn ended_by_store(node: &mut Node, grace: Option<Duration>) -> FailedStore {
    let failed = node.store_failed().await;
    match failed.is_superseded {
        true => failed,
        false => failed_for(std::future::ready(failed), grace).await,
    }
}

/// Returns the failure of a store after a grace period. Never returns without one.
pub async fn failed_for<T>(failed: impl Future<Output = T>, grace: Option<Duration>) -> T {
    let failure = failed.await;
    match grace {
        Some(grace) => tokio::time::sleep(grace).await,
        None => std::future::pending().await,
    }
    failure
}

fn store_failed(rejection: Rejection) -> Failure {
    Failure::store_failed(&rejection.code, rejection.message, rejection.hint)
}

/// Returns the runtime for a node's connections. The default is half of the cores.
pub fn io_runtime(threads: Option<u16>) -> Result<tokio::runtime::Runtime, Failure> {
    let threads = threads.map(usize::from).unwrap_or_else(|| {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        (cores / 2).max(1)
    });
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .max_blocking_threads(BLOCKING_THREADS_MAX)
        .thread_name("io")
        .enable_all()
        .build()
        .map_err(|error| system(&error))
}

impl LogArgs {
    /// Starts the log. Options that are not given come from the configuration.
    pub fn start(&self, section: &LogSection) -> Result<(), Failure> {
        let filter = self.log.as_deref().unwrap_or(&section.level);
        let filter = EnvFilter::try_new(format!("{QUIET},{filter}")).map_err(|error| {
            let hint = "Give a level (error, warn, info, debug, trace) or a filter such as info,node::http=debug.";
            let text = format!("'{filter}': {error}");
            match self.log {
                Some(_) => Failure::usage("tally.bad_log_filter", text, hint),
                None => Failure::local("tally.bad_log_filter", format!("log.level: {text}"), hint),
            }
        })?;
        let json = match self.log_format {
            Some(format) => format == Format::Json,
            None => section.format == LogFormat::Json,
        };
        let log = tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_writer(std::io::stderr)
            // A failed write of the log, as on a full disk, must not end the writing thread. The library would panic otherwise.
            .log_internal_errors(false)
            .with_ansi(stderr_ink().is_on());
        let started = if json {
            log.json().try_init()
        } else {
            log.try_init()
        };
        started.map_err(|error| Failure::local("tally.log", error.to_string(), "Report this."))
    }
}

/// Prints the line that reports that the node is ready.
fn announce(name: &str, node: &Node, begin: Instant) -> Result<(), Failure> {
    let startup_ms = primitives::whole_ms(begin.elapsed());
    let (api, p2p) = (node.api_address(), node.p2p_address());
    tracing::info!(name, %api, %p2p, startup_ms, "the node takes work");
    let line = serde_json::json!({
        "ready": name,
        "api": api.to_string(),
        "p2p": p2p.to_string(),
        "startup_ms": startup_ms,
        "pid": std::process::id(),
    });
    print(&line.to_string())
}

/// Handles SIGXFSZ, so that a write beyond the file size limit fails instead of ending the process.
pub fn file_size_signal() -> std::io::Result<Signal> {
    signal(SignalKind::from_raw(libc::SIGXFSZ))
}

/// SIGTERM and SIGINT.
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    pub fn new() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// Returns the number of the next signal.
    pub async fn next(&mut self) -> i32 {
        tokio::select! {
            _ = self.terminate.recv() => SignalKind::terminate().as_raw_value(),
            _ = self.interrupt.recv() => SignalKind::interrupt().as_raw_value(),
        }
    }
}

/// Returns the failure for a system resource that a node needs.
pub fn system(error: &std::io::Error) -> Failure {
    Failure::local(
        "node.system",
        error.to_string(),
        "Check the limits of processes and memory for the node's user.",
    )
}
