//! `tally chain run`: the process of a chain node.
//!
//! Standard output carries one line of JSON when the node is ready. The log goes to standard error. The first SIGTERM or SIGINT
//! stops the node in order, and the second ends the process at once. When the store has failed, the process answers for a while
//! and then exits with a code of its own, so that a supervisor can restart it.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use node::chain::{ChainNode, load_chain_dir};

use crate::commands::node::run::{
    LogArgs, Signals, failed_for, file_size_signal, io_runtime, system,
};
use crate::failure::Failure;
use crate::folder;
use crate::output::print;

/// Base of the exit code after a signal, as in a shell.
const ENDED_BY_SIGNAL: i32 = 128;

/// Arguments of `tally chain run`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The node's folder, or its chain.toml
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    #[command(flatten)]
    log: LogArgs,
    /// Threads for connections; half of the cores by default
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: Option<u16>,
}

impl Args {
    pub fn run(self) -> Result<(), Failure> {
        crate::allocator::settle();
        let begin = Instant::now();
        folder::runs_chain_node(&self.folder)?;
        let files = load_chain_dir(&self.folder).map_err(|error| Failure::coded(&error))?;
        self.log.start(&files.config.log)?;
        let name = files.config.node.name.clone();
        let grace = files.config.store.exit_after_failure();
        let runtime = io_runtime(self.threads)?;
        let served = runtime.block_on(async {
            let _file_size = file_size_signal().map_err(|error| system(&error))?;
            let node = ChainNode::start(files)
                .await
                .map_err(|error| Failure::not_started(&error, error.may_pass()))?;
            let signals = Signals::new().map_err(|error| system(&error))?;
            announce(&name, &node, begin)?;
            serve(node, signals, grace).await
        });
        // Reads that still wait for the disk do not delay the exit.
        runtime.shutdown_background();
        served
    }
}

/// Serves until the first signal, or until the store has failed and the grace period is over.
async fn serve(
    node: ChainNode,
    mut signals: Signals,
    grace: Option<Duration>,
) -> Result<(), Failure> {
    let failed = tokio::select! {
        number = signals.next() => {
            tracing::info!(signal = number, "the node stops");
            // A supervisor must learn of a failure also if the signal comes within the grace period.
            node.failure()
        }
        failure = failed_for(node.failed(), grace) => Some(failure),
    };
    tokio::spawn(async move {
        let number = signals.next().await;
        tracing::warn!(signal = number, "the node ends at once");
        std::process::exit(ENDED_BY_SIGNAL + number);
    });
    node.stop().await;
    tracing::info!("the node has stopped");
    match failed {
        Some(failure) => Err(Failure::store_failed(
            failure.code,
            failure.message,
            failure.hint,
        )),
        None => Ok(()),
    }
}

/// Prints the line that reports that the node is ready.
fn announce(name: &str, node: &ChainNode, begin: Instant) -> Result<(), Failure> {
    let startup_ms = primitives::whole_ms(begin.elapsed());
    let (api, p2p, height) = (node.api_address(), node.p2p_address(), node.height().get());
    tracing::info!(name, %api, %p2p, height, startup_ms, "the chain node takes work");
    let line = serde_json::json!({
        "ready": name,
        "api": api.to_string(),
        "p2p": p2p.to_string(),
        "height": height,
        "startup_ms": startup_ms,
        "pid": std::process::id(),
    });
    print(&line.to_string())
}
