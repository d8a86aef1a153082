//! `tally tx`: recorded transactions.

mod bytes;
mod chain;
mod note;
mod show;

use clap::Subcommand;

use crate::failure::Failure;

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show a transaction
    Show(show::Args),
    /// Show a transaction's bytes, as nodes send them to each other
    Bytes(bytes::Args),
    /// Show the transactions that a transaction depends on
    Chain(chain::Args),
    /// Manage notes of transactions, which stay on the node
    #[command(subcommand)]
    Note(note::Command),
}

impl Command {
    pub fn run(self) -> Result<(), Failure> {
        match self {
            Command::Show(arguments) => arguments.run(),
            Command::Bytes(arguments) => arguments.run(),
            Command::Chain(arguments) => arguments.run(),
            Command::Note(command) => command.run(),
        }
    }

    pub fn wants_json(&self) -> bool {
        match self {
            Command::Show(arguments) => arguments.output.json,
            Command::Bytes(_) => false,
            Command::Chain(arguments) => arguments.output.json,
            Command::Note(command) => command.wants_json(),
        }
    }
}
