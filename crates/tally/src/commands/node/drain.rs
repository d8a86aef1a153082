//! `tally node drain`

use crate::failure::Failure;
use crate::output::{Output, pairs};
use crate::target::Target;

/// Arguments of `tally node drain`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    pub output: Output,
}

impl Args {
    pub fn run(self) -> Result<(), Failure> {
        self.target.with_client(async |client| {
            self.output.show(&client.drain().await?, |drain| {
                pairs(&[
                    ("state", drain.state.as_str().to_owned()),
                    ("flows in flight", drain.flows_in_flight.to_string()),
                    (
                        "waits not for",
                        format!(
                            "{} parked, {} paused",
                            drain.flows_parked, drain.flows_paused
                        ),
                    ),
                ])
            })
        })
    }
}
