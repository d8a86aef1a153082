//! `tally flow get`

use std::time::{Duration, Instant};

use api::Wait;
use client::ClientError;

use super::{WaitFor, show, turn_ms, wait_on};
use crate::failure::Failure;
use crate::output::Output;
use crate::target::Target;

/// Arguments of `tally flow get`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// The flow
    flow_id: String,
    /// The stage to wait for
    #[arg(long, value_enum, default_value = "none")]
    wait: WaitFor,
    /// Maximum wait; unlimited by default
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,
    #[command(flatten)]
    pub output: Output,
}

impl Args {
    pub fn run(self) -> Result<(), Failure> {
        let wait: Wait = self.wait.into();
        self.target.with_client(async |client| {
            let deadline = self
                .timeout
                .map(|seconds| Instant::now() + Duration::from_secs(seconds));
            let state = client.flow(&self.flow_id, wait, Some(turn_ms(deadline)));
            let outcome = state.await.or_else(ClientError::into_outcome)?;
            show(
                self.output,
                wait_on(&client, outcome, wait, deadline).await?,
                wait,
            )
        })
    }
}
