//! `tally node run`

use std::io::Write;
use std::path::PathBuf;

use node::bootstrap::load_node_dir;
use node::config::LogFormat;
use node::{Apps, Node};
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

use crate::failure::Failure;

/// Threads for connections and the API; the kernel, the commits and the vault's view have threads of their own.
const CONNECTION_THREADS: usize = 2;

/// Arguments of `tally node run`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The node's folder, as bootstrap made it
    dir: PathBuf,
    /// Log from this level on, instead of what node.toml says
    #[arg(long, value_name = "LEVEL")]
    log: Option<String>,
}

impl Args {
    pub fn run(self) -> Result<(), Failure> {
        let files = load_node_dir(&self.dir).map_err(|error| Failure::coded(&error))?;
        let log = &files.config.log;
        start_log(self.log.as_deref().unwrap_or(&log.level), log.format)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(CONNECTION_THREADS)
            .max_blocking_threads(16)
            .enable_all()
            .build()
            .map_err(|error| Failure::local("node.system", error.to_string(), "check the limits of the node's user"))?;
        runtime.block_on(async move {
            let name = files.config.node.name.to_string();
            let apps = Apps::built_in().map_err(|error| Failure::coded(&error))?;
            let node = Node::start(files, apps).await.map_err(|error| Failure::coded(&error))?;
            let ready = serde_json::json!({
                "ready": name,
                "api": node.api_address(),
                "p2p": node.p2p_address(),
                "pid": std::process::id(),
            });
            println!("{ready}");
            std::io::stdout().flush().ok();
            tracing::info!(api = %node.api_address(), p2p = %node.p2p_address(), "{name} is ready");
            until_told(node).await
        })
    }
}

/// Serves until a signal; the first one drains, the second one stops at once. After a failure of the store the node answers
/// everything with the reason until it is stopped.
async fn until_told(mut node: Node) -> Result<(), Failure> {
    let failed = |error: std::io::Error| {
        Failure::local("node.system", format!("no signals: {error}"), "report this")
    };
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    tracing::info!("draining; a second signal stops at once");
    tokio::select! {
        drained = node.drain() => match drained {
            Ok(()) => tracing::info!("drained"),
            Err(why) => tracing::warn!("nothing to drain: {why}"),
        },
        _ = terminate.recv() => tracing::warn!("stopping with flows in flight; they go on after the restart"),
        _ = interrupt.recv() => tracing::warn!("stopping with flows in flight; they go on after the restart"),
    }
    node.stop().await;
    Ok(())
}

fn start_log(level: &str, format: LogFormat) -> Result<(), Failure> {
    let filter = EnvFilter::try_new(level).map_err(|error| {
        Failure::local("config.invalid", format!("log.level '{level}': {error}"), "use error, warn, info, debug or trace")
    })?;
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match format {
        LogFormat::Json => log.json().init(),
        LogFormat::Text => {
            let plain = std::env::var_os("NO_COLOR").is_some() || !std::io::IsTerminal::is_terminal(&std::io::stderr());
            log.with_ansi(!plain).init();
        }
    }
    Ok(())
}
