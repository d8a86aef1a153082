//! `tally vault`: what a node owns.

mod balances;
mod query;
mod rebuild;
mod states;

use clap::Subcommand;

use crate::Register;
use crate::failure::Failure;

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Sums of what can be spent
    Balances(balances::Args),
    /// States by criteria, consumed ones as well; counts and sums
    // Many flags: a box keeps the others small.
    Query(Box<query::Args>),
    /// Make a stopped node's view of its states anew from its ledger
    Rebuild(rebuild::Args),
    /// Unconsumed states
    States(states::Args),
}

impl Command {
    pub fn run(self, register: Register) -> Result<(), Failure> {
        match self {
            Command::Balances(arguments) => arguments.run(),
            Command::Query(arguments) => arguments.run(),
            Command::Rebuild(arguments) => arguments.run(register),
            Command::States(arguments) => arguments.run(),
        }
    }

    pub fn wants_json(&self) -> bool {
        match self {
            Command::Balances(arguments) => arguments.output.json,
            Command::Query(arguments) => arguments.output.json,
            Command::Rebuild(arguments) => arguments.output.json,
            Command::States(arguments) => arguments.output.json,
        }
    }
}
