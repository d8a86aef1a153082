//! `tally flow cancel`

use super::people;
use crate::failure::Failure;
use crate::output::Output;
use crate::target::Target;

/// Arguments of `tally flow cancel`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// The flow
    flow_id: String,
    #[command(flatten)]
    pub output: Output,
}

impl Args {
    /// Cancels a flow. The cancelled flow has failed as requested, so the command succeeds.
    pub fn run(self) -> Result<(), Failure> {
        self.target.with_client(async |client| {
            let outcome = client.cancel(&self.flow_id).await?;
            self.output.show(&outcome, people)
        })
    }
}
