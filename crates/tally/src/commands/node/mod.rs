//! `tally node`: run a node, look at one, drain it.

mod drain;
mod info;
mod peers;
pub mod run;

use clap::Subcommand;

use crate::Register;
use crate::failure::Failure;

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the node of a folder until SIGTERM or Ctrl-C
    Run(run::Args),
    /// Who a node is and how it is
    Info(info::Args),
    /// The other nodes: connections, software, clocks
    Peers(peers::Args),
    /// Let a node finish what it has and accept nothing new
    Drain(drain::Args),
}

impl Command {
    pub fn run(self, register: Register) -> Result<(), Failure> {
        match self {
            Command::Run(arguments) => arguments.run(register),
            Command::Info(arguments) => arguments.run(),
            Command::Peers(arguments) => arguments.run(),
            Command::Drain(arguments) => arguments.run(),
        }
    }

    pub fn wants_json(&self) -> bool {
        match self {
            Command::Run(_) => false,
            Command::Info(arguments) => arguments.output.json,
            Command::Peers(arguments) => arguments.output.json,
            Command::Drain(arguments) => arguments.output.json,
        }
    }
}
