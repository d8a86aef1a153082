//! `tally flow start`

use std::io::Read;
use std::time::{Duration, Instant};

use api::{StartFlow, Wait};
use client::ClientError;

use super::{WaitFor, show, turn_ms, wait_on};
use crate::failure::{Failure, about_file};
use crate::output::Output;
use crate::target::Target;

/// Arguments of `tally flow start`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// The flow's name, such as cash.issue; 'tally flow describe' lists them
    #[arg(long, value_name = "NAME")]
    flow: String,
    /// Its version; the newest by default
    #[arg(long, value_name = "N")]
    version: Option<u32>,
    /// Its arguments as JSON; @FILE reads a file, @- standard input
    #[arg(long, value_name = "JSON", default_value = "{}")]
    args: String,
    /// The condition to wait for
    #[arg(long, value_enum, default_value = "finalised")]
    wait: WaitFor,
    /// An id of your choice, so that the flow is started exactly once
    #[arg(long, value_name = "ID")]
    client_id: Option<String>,
    /// Maximum wait; unlimited by default
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,
    #[command(flatten)]
    pub output: Output,
}

impl Args {
    pub fn run(self) -> Result<(), Failure> {
        let args = json_argument(&self.args)?;
        let wait: Wait = self.wait.into();
        let output = self.output;
        self.target.with_client(async |client| {
            let deadline = self
                .timeout
                .map(|seconds| Instant::now() + Duration::from_secs(seconds));
            let start = StartFlow {
                flow: self.flow.clone(),
                version: self.version,
                args,
                client_id: self.client_id.clone(),
                wait,
                timeout_ms: Some(turn_ms(deadline)),
            };
            let started = client.start(&start).await;
            let outcome = started
                .or_else(ClientError::into_outcome)
                .map_err(|error| Failure::from(error).about_flow(&self.flow))?;
            let waited = wait_on(&client, outcome, wait, deadline).await?;
            show(output, waited, wait)
        })
    }
}

/// Reads JSON from the command line, a file or standard input.
fn json_argument(argument: &str) -> Result<api::RawJson, Failure> {
    let text = match argument.strip_prefix('@') {
        None => argument.to_owned(),
        Some("-") => {
            let mut text = String::new();
            let read = std::io::stdin().lock().read_to_string(&mut text);
            read.map_err(|error| about_file("standard input".as_ref(), &error))?;
            text
        }
        Some(path) => {
            std::fs::read_to_string(path).map_err(|error| about_file(path.as_ref(), &error))?
        }
    };
    serde_json::from_str(&text).map_err(|error| {
        let hint =
            r#"Quote it for the shell, such as --args '{"quantity": 100}', or use --args @FILE."#;
        Failure::usage(
            "tally.bad_json",
            format!("--args is no JSON: {error}"),
            hint,
        )
    })
}
