//! `tally network`: the folders of a network, and the network as a node knows it.

mod bootstrap;
mod show;

use clap::Subcommand;

use crate::failure::Failure;

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make keys, certificates and a folder for each node; what exists is kept
    Bootstrap(bootstrap::Args),
    /// The network's parameters, as a node knows them
    Show(show::Args),
    /// Every node of the network and where it is
    Map(show::Args),
}

impl Command {
    pub fn run(self) -> Result<(), Failure> {
        match self {
            Command::Bootstrap(arguments) => arguments.run(),
            Command::Show(arguments) => arguments.show(),
            Command::Map(arguments) => arguments.map(),
        }
    }

    pub fn wants_json(&self) -> bool {
        match self {
            Command::Bootstrap(arguments) => arguments.output.json,
            Command::Show(arguments) | Command::Map(arguments) => arguments.output.json,
        }
    }
}
