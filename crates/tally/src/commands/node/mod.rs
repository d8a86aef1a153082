//! `tally node`: commands that run, inspect and drain a node.

mod clock;
mod deliveries;
mod drain;
mod info;
mod member;
mod peers;
pub mod run;
mod store;

use clap::Subcommand;

use super::store_care;
use crate::Register;
use crate::failure::Failure;

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the node of a folder until SIGTERM or Ctrl-C
    Run(run::Args),
    /// Show a node's identity and state
    Info(info::Args),
    /// Show the other nodes: connections, software, clocks
    Peers(peers::Args),
    /// Show the transactions that other nodes have not answered for, with their reasons
    Deliveries(deliveries::Args),
    /// Manage the node's clock
    #[command(subcommand)]
    Clock(clock::Command),
    /// Let a node finish its work and accept no new work
    Drain(drain::Args),
    /// Let the next start make an empty store for an existing identity
    InitStore(store_care::Args),
    /// Accept a stopped node's store in its present state: restored from a copy, or without its inventory
    AcceptStore(store_care::Args),
    /// Let a stopped node forget a member that has left the network for good
    ForgetMember(member::Args),
}

impl Command {
    pub fn run(self, register: Register) -> Result<(), Failure> {
        match self {
            Command::Run(arguments) => arguments.run(register),
            Command::Info(arguments) => arguments.run(),
            Command::Peers(arguments) => arguments.run(),
            Command::Deliveries(arguments) => arguments.run(),
            Command::Clock(command) => command.run(),
            Command::Drain(arguments) => arguments.run(),
            Command::InitStore(arguments) => store::init(&arguments),
            Command::AcceptStore(arguments) => store::accept(&arguments),
            Command::ForgetMember(arguments) => arguments.run(),
        }
    }

    pub fn wants_json(&self) -> bool {
        match self {
            Command::Run(_) => false,
            Command::Info(arguments) => arguments.output.json,
            Command::Peers(arguments) => arguments.output.json,
            Command::Deliveries(arguments) => arguments.output.json,
            Command::Clock(command) => command.wants_json(),
            Command::Drain(arguments) => arguments.output.json,
            Command::InitStore(arguments) | Command::AcceptStore(arguments) => {
                arguments.output.json
            }
            Command::ForgetMember(arguments) => arguments.care.output.json,
        }
    }
}
