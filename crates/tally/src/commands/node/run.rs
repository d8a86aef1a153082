//! `tally node run`: the process of a node.
//!
//! Standard output carries one line of JSON, when the node takes work; the log goes to standard error.
//! The first SIGTERM or SIGINT lets running flows end for a while, then stops; the second ends the process at once. When the store has
//! failed the process answers for a while, then exits with a code of its own, for a supervisor to start it again.

use std::future::Future;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use ledger::Rejection;
use node::bootstrap::load_node_dir;
use node::config::{LogFormat, LogSection};
use node::{Apps, Node};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing_subscriber::EnvFilter;

use crate::Register;
use crate::failure::Failure;
use crate::output::{print, stderr_ink};

/// Threads for queries that wait for the disk.
const BLOCKING_THREADS_MAX: usize = 64;
/// As a shell shows an end by a signal.
const ENDED_BY_SIGNAL: i32 = 128;

/// What a stranger can make a library say is not worth a line, unless the filter asks for it.
const QUIET: &str = "libp2p=error,yamux=error,multistream_select=error";

/// Arguments of `tally node run`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The node's folder, as bootstrap made it
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    #[command(flatten)]
    log: LogArgs,
    /// How long flows may take to end after the first signal; those that have not go on after the next start
    #[arg(long, value_name = "SECONDS", default_value_t = 20)]
    drain_seconds: u64,
    /// Threads for connections of clients; the configuration's if left out
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: Option<u16>,
    /// Let flows that the store holds wait until they are resumed (tally flow resume), so that they can be killed before they run
    #[arg(long)]
    hold_flows: bool,
}

/// What is logged, and how.
#[derive(Debug, clap::Args)]
pub struct LogArgs {
    /// What to log: a level, or a filter such as info,node::http=debug; the configuration's if left out
    #[arg(long, value_name = "FILTER", env = "TALLY_LOG")]
    log: Option<String>,
    /// How to log; the configuration's if left out
    #[arg(long, value_enum, value_name = "FORMAT")]
    log_format: Option<Format>,
}

/// How lines of the log look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For people
    Text,
    /// One JSON object a line
    Json,
}

impl Args {
    pub fn run(self, register: Register) -> Result<(), Failure> {
        crate::allocator::settle();
        let begin = Instant::now();
        let mut files = load_node_dir(&self.folder).map_err(|error| Failure::coded(&error))?;
        files.config.hospital.hold_flows |= self.hold_flows;
        self.log.start(&files.config.log)?;
        let name = files.info.party.name.to_string();
        let mut apps = Apps::built_in().map_err(|error| Failure::coded(&error))?;
        register(&mut apps.contracts, &mut apps.flows).map_err(|error| Failure::coded(&error))?;
        let configured = files.config.limits.io_threads;
        let runtime = io_runtime(self.threads.or((configured > 0).then_some(configured)))?;
        let served = runtime.block_on(async {
            let node = Node::start(files, apps)
                .await
                .map_err(|error| Failure::coded(&error))?;
            let signals = Signals::new().map_err(|error| system(&error))?;
            announce(&name, &node, begin)?;
            self.serve(node, signals).await
        });
        // Queries that still wait for the disk hold nothing up.
        runtime.shutdown_background();
        served
    }

    /// Serves until the first signal, then drains and stops; or until the store has failed and the time for that is over.
    async fn serve(&self, mut node: Node, mut signals: Signals) -> Result<(), Failure> {
        let grace = node.exit_after_failure();
        let ended = tokio::select! {
            number = signals.next() => Ok(number),
            failure = failed_for(node.store_failed(), grace) => Err(failure),
        };
        tokio::spawn(async move {
            let number = signals.next().await;
            tracing::warn!(signal = number, "the node ends at once");
            std::process::exit(ENDED_BY_SIGNAL + number);
        });
        let number = match ended {
            Ok(number) => number,
            Err(rejection) => {
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
                "flows have not ended; they go on after the next start"
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

/// Returns why a store failed, a grace period later; without one never.
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

/// The runtime of a node's connections; half of the cores where `threads` does not say.
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
    /// Starts the log; what is not said here the section says.
    pub fn start(&self, section: &LogSection) -> Result<(), Failure> {
        let filter = self.log.as_deref().unwrap_or(&section.level);
        let filter = EnvFilter::try_new(format!("{QUIET},{filter}")).map_err(|error| {
            let hint = "Give a level (error, warn, info, debug, trace) or a filter such as info,node::http=debug.";
            Failure::local("tally.bad_log_filter", format!("'{filter}': {error}"), hint)
        })?;
        let json = match self.log_format {
            Some(format) => format == Format::Json,
            None => section.format == LogFormat::Json,
        };
        let log = tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_writer(std::io::stderr)
            // A log that can't be written, as on a full disk, must not end the thread that wrote: the library would panic.
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

/// The line that tells whoever started the node that it takes work.
fn announce(name: &str, node: &Node, begin: Instant) -> Result<(), Failure> {
    let startup_ms = u64::try_from(begin.elapsed().as_millis()).unwrap_or(u64::MAX);
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

/// SIGTERM and SIGINT. SIGXFSZ is taken so that a write beyond the limit of file sizes fails instead of ending the process.
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
    _file_size: Signal,
}

impl Signals {
    pub fn new() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            _file_size: signal(SignalKind::from_raw(libc::SIGXFSZ))?,
        })
    }

    /// The number of the next one.
    pub async fn next(&mut self) -> i32 {
        tokio::select! {
            _ = self.terminate.recv() => SignalKind::terminate().as_raw_value(),
            _ = self.interrupt.recv() => SignalKind::interrupt().as_raw_value(),
        }
    }
}

/// The system refuses something that a node needs.
pub fn system(error: &std::io::Error) -> Failure {
    Failure::local(
        "node.system",
        error.to_string(),
        "Check the limits of processes and memory for the node's user.",
    )
}
