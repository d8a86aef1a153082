//! `tally vault`: what a node owns.

mod balances;
mod query;
mod states;

use clap::Subcommand;

use crate::failure::Failure;

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Sums of what can be spent
    Balances(balances::Args),
    /// States by criteria, consumed ones as well; counts and sums
    // Many flags: a box keeps the others small.
    Query(Box<query::Args>),
    /// Unconsumed states
    States(states::Args),
}

impl Command {
    pub fn run(self) -> Result<(), Failure> {
        match self {
            Command::Balances(arguments) => arguments.run(),
            Command::Query(arguments) => arguments.run(),
            Command::States(arguments) => arguments.run(),
        }
    }

    pub fn wants_json(&self) -> bool {
        match self {
            Command::Balances(arguments) => arguments.output.json,
            Command::Query(arguments) => arguments.output.json,
            Command::States(arguments) => arguments.output.json,
        }
    }
}
