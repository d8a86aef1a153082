//! `tally network`: the folders of a network.

mod bootstrap;

use clap::Subcommand;

use crate::failure::Failure;

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make keys, certificates and a folder for each node; what exists is kept
    Bootstrap(bootstrap::Args),
}

impl Command {
    pub fn run(self) -> Result<(), Failure> {
        let Command::Bootstrap(arguments) = self;
        arguments.run()
    }

    pub fn wants_json(&self) -> bool {
        let Command::Bootstrap(arguments) = self;
        arguments.output.json
    }
}
