//! `tally network`: the folders of a network, and the network as a node knows it.

mod bootstrap;
mod check;
mod show;

use clap::Subcommand;

pub use check::ERRORS;

use crate::failure::Failure;

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make keys, certificates and a folder for each node; existing ones are kept
    Bootstrap(bootstrap::Args),
    /// Show the network's parameters, as a node knows them
    Show(show::Args),
    /// Check that the folders of a network are consistent, and that its nodes run and are connected
    Check(check::Args),
    /// Show every node of the network and its addresses
    Map(show::Args),
}

impl Command {
    pub fn run(self) -> Result<(), Failure> {
        match self {
            Command::Bootstrap(arguments) => arguments.run(),
            Command::Check(arguments) => arguments.run(),
            Command::Show(arguments) => arguments.show(),
            Command::Map(arguments) => arguments.map(),
        }
    }

    pub fn wants_json(&self) -> bool {
        match self {
            Command::Bootstrap(arguments) => arguments.output.json,
            Command::Check(arguments) => arguments.output.json,
            Command::Show(arguments) | Command::Map(arguments) => arguments.output.json,
        }
    }
}
