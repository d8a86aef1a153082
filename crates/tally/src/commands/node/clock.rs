//! `tally node clock`

use api::ClockView;
use clap::Subcommand;

use crate::failure::Failure;
use crate::output::{Output, pairs};
use crate::target::Target;

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Confirm the node's clock after it was set
    Confirm(Args),
}

/// Arguments of `tally node clock confirm`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    pub output: Output,
}

impl Command {
    pub fn run(self) -> Result<(), Failure> {
        let Command::Confirm(arguments) = self;
        let output = arguments.output;
        arguments
            .target
            .with_client(async |client| output.show(&client.confirm_clock().await?, people))
    }

    pub fn wants_json(&self) -> bool {
        let Command::Confirm(arguments) = self;
        arguments.output.json
    }
}

fn people(clock: &ClockView) -> String {
    let doubt = match clock.in_doubt {
        true => "in doubt",
        false => "trusted",
    };
    pairs(&[
        ("clock", doubt.to_owned()),
        ("jumps", clock.jumps.to_string()),
        (
            "behind the notary's judgements",
            format!("{} ms", clock.notary_behind_ms),
        ),
    ])
}
