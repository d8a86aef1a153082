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
    /// Make keys, certificates and a folder for each node; what exists is kept
    Bootstrap(bootstrap::Args),
    /// The network's parameters, as a node knows them
    Show(show::Args),
    /// Whether the folders of a network fit together, and whether its nodes run and meet each other
    Check(check::Args),
    /// Every node of the network and where it is
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
