//! `tally vault`: the states of a node.

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
    /// Show the sums of spendable states
    Balances(balances::Args),
    /// Query states by criteria, including consumed ones; counts and sums
    // Many flags: a box keeps the others small.
    Query(Box<query::Args>),
    /// Rebuild a stopped node's view of its states from its ledger
    Rebuild(rebuild::Args),
    /// List unconsumed states
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
