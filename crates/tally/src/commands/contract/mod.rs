//! `tally contract`: the contracts of a node's binary, and the proposed transitions that the node signs.

mod consents;
mod list;

use clap::Subcommand;

use crate::failure::Failure;

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the contracts registered in the node's binary, with the hashes of their descriptors
    List(list::Args),
    /// Show the proposals of others that the node signs: upgrades and changes of notary
    Consents(consents::Show),
    /// Let the node sign upgrades from one code to another
    Authorise(consents::Upgrade),
    /// Stop signing these upgrades
    Withdraw(consents::Upgrade),
    /// Set whether the node signs changes of notary
    NotaryChanges(consents::NotaryChanges),
}

impl Command {
    pub fn run(self) -> Result<(), Failure> {
        match self {
            Command::List(arguments) => arguments.run(),
            Command::Consents(arguments) => arguments.run(),
            Command::Authorise(arguments) => arguments.run(true),
            Command::Withdraw(arguments) => arguments.run(false),
            Command::NotaryChanges(arguments) => arguments.run(),
        }
    }

    pub fn wants_json(&self) -> bool {
        match self {
            Command::List(arguments) => arguments.output.json,
            Command::Consents(arguments) => arguments.output.json,
            Command::Authorise(arguments) | Command::Withdraw(arguments) => arguments.output.json,
            Command::NotaryChanges(arguments) => arguments.output.json,
        }
    }
}
