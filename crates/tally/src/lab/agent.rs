//! `tally lab agent` generates load, and holds nodes, for a run that another machine coordinates.

use std::path::{Path, PathBuf};

use perf::agent::{Agent, Said, Token};
use primitives::SecretText;
use serde::Serialize;
use tokio::signal::unix::{SignalKind, signal};

use crate::failure::{Failure, about_file};
use crate::output::Output;

/// Arguments of `tally lab agent`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The address to listen on for the coordinator; port 0 takes any free port
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:7700")]
    listen: String,
    /// A file with the token that coordinator and agents share, at least 16 characters
    #[arg(long, value_name = "FILE")]
    token_file: PathBuf,
    /// Run nodes as well (`tally lab run --host`): everyone who knows the token can start this program's nodes here with any configuration
    #[arg(long)]
    host: bool,
    #[command(flatten)]
    pub output: Output,
}

/// The output once the agent listens.
#[derive(Serialize)]
struct Listening {
    address: String,
    /// SHA-256 of its certificate.
    fingerprint: String,
    /// Whether it runs nodes.
    host: bool,
}

impl Args {
    pub fn run(self) -> Result<(), Failure> {
        let token = read_token(&self.token_file)?;
        let unavailable = |error: std::io::Error| {
            Failure::local("tally.runtime", error.to_string(), "Report this.")
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(unavailable)?;
        runtime.block_on(async {
            let mut terminate = signal(SignalKind::terminate()).map_err(unavailable)?;
            let workloads = crate::workloads();
            let nodes = self.host.then(this_program).transpose()?;
            let agent = Agent::bind(&self.listen, token, workloads, nodes, say).await;
            let agent = agent.map_err(|error| Failure::coded(&error))?;
            let address = agent.address().map_err(|error| Failure::coded(&error))?;
            let listening = Listening {
                address: address.to_string(),
                fingerprint: agent.fingerprint().to_string(),
                host: self.host,
            };
            self.output.show(&listening, |listening| {
                let host = if listening.host { "runs nodes\n" } else { "" };
                format!(
                    "listening on {}\nfingerprint  {}\n{host}",
                    listening.address, listening.fingerprint
                )
            })?;
            // A coordinator treats this end as a failure. The work done so far counts there.
            tokio::select! {
                () = agent.serve() => {}
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
            Ok(())
        })
    }
}

/// Reads the token of a file.
pub fn read_token(file: &Path) -> Result<Token, Failure> {
    let text = std::fs::read_to_string(file).map_err(|error| about_file(file, &error))?;
    Token::new(SecretText::new(text).expose()).map_err(|error| Failure::coded(&error))
}

/// Returns the path of this program.
pub(super) fn this_program() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(|error| {
        let hint = "Run it by its path.";
        let text = format!("where this program is: {error}");
        Failure::local("tally.file", text, hint)
    })
}

/// Prints the agent's events.
fn say(said: Said) {
    match said {
        Said::Came(from) => eprintln!("coordinator {from}"),
        Said::Refused(from, why) => eprintln!("refused {from}: {why}"),
        Said::Begins(words) => eprintln!("  stretch: {words}"),
        Said::Done(words) => eprintln!("  done: {words}"),
        Said::Left(from) => eprintln!("{from} has gone"),
    }
}
