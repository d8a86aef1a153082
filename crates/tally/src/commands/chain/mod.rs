//! `tally chain`: a public chain.

mod account;
mod amount;
mod balance;
mod blocks;
mod bundle;
mod equivocations;
mod forge;
mod genesis;
mod history;
mod notation;
mod orders;
mod peers;
mod run;
mod secret;
mod send;
mod status;
mod store;
mod tx;
mod upkeep;

use clap::Subcommand;

use super::store_care;
use crate::failure::Failure;

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make a test network: a genesis, and a folder for each server
    Genesis(genesis::Args),
    /// Make a long history in the store of a stopped node of a test network
    History(history::Args),
    /// Run the chain node of a folder until SIGTERM or Ctrl-C
    Run(run::Args),
    /// Show the state of a node
    Status(status::Args),
    /// Pay tokens: the payment is made and signed here and submitted to the node
    Send(send::Args),
    /// Show a transaction: its fields, its state, and the blocks that carry it
    Tx(tx::Args),
    /// Show an account: balances, forging balance, leases, key and last transactions
    Account(account::Args),
    /// Show the balances of accounts on all chains
    Balance(balance::Args),
    /// Show the newest blocks, or one block
    Blocks(blocks::Args),
    /// Show the forging accounts of a node; start or stop forging
    Forge(forge::Args),
    /// Show the bundlers of a node; start or stop bundling
    Bundle(bundle::Args),
    /// Show evidence against forgers that signed two blocks on one parent
    Equivocations(equivocations::Args),
    /// Show the peers of a node
    Peers(peers::Args),
    /// Roll blocks back to a height
    PopOff(orders::PopOffArgs),
    /// Choose a branch by one of its blocks, after a fork beyond the rollback limit
    Trust(orders::TrustArgs),
    /// Empty a node's pool
    ClearPool(orders::ClearPoolArgs),
    /// Delete the bodies of old blocks while the node runs
    Prune(orders::PruneArgs),
    /// Check the store of a stopped node
    Check(upkeep::CheckArgs),
    /// Make a copy of a running node's store, in its data folder
    Snapshot(upkeep::SnapshotArgs),
    /// Replace a stopped node's store by a snapshot
    Restore(upkeep::RestoreArgs),
    /// Let the next start of a stopped node make an empty store, which synchronises with the peers
    InitStore(store_care::Args),
    /// Accept a stopped node's store in its present state: restored from a copy, or without its inventory
    AcceptStore(store_care::Args),
}

impl Command {
    pub fn run(self) -> Result<(), Failure> {
        match self {
            Command::Genesis(arguments) => arguments.run(),
            Command::History(arguments) => arguments.run(),
            Command::Run(arguments) => arguments.run(),
            Command::Status(arguments) => arguments.run(),
            Command::Send(arguments) => arguments.run(),
            Command::Tx(arguments) => arguments.run(),
            Command::Account(arguments) => arguments.run(),
            Command::Balance(arguments) => arguments.run(),
            Command::Blocks(arguments) => arguments.run(),
            Command::Forge(arguments) => arguments.run(),
            Command::Bundle(arguments) => arguments.run(),
            Command::Equivocations(arguments) => arguments.run(),
            Command::Peers(arguments) => arguments.run(),
            Command::PopOff(arguments) => arguments.run(),
            Command::Trust(arguments) => arguments.run(),
            Command::ClearPool(arguments) => arguments.run(),
            Command::Prune(arguments) => arguments.run(),
            Command::Check(arguments) => arguments.run(),
            Command::Snapshot(arguments) => arguments.run(),
            Command::Restore(arguments) => arguments.run(),
            Command::InitStore(arguments) => store::init(&arguments),
            Command::AcceptStore(arguments) => store::accept(&arguments),
        }
    }

    pub fn wants_json(&self) -> bool {
        match self {
            Command::Genesis(arguments) => arguments.output.json,
            Command::History(arguments) => arguments.output.json,
            Command::Run(_) => false,
            Command::Status(arguments) => arguments.output.json,
            Command::Send(arguments) => arguments.output.json,
            Command::Tx(arguments) => arguments.output.json,
            Command::Account(arguments) => arguments.output.json,
            Command::Balance(arguments) => arguments.output.json,
            Command::Blocks(arguments) => arguments.output.json,
            Command::Forge(arguments) => arguments.output.json,
            Command::Bundle(arguments) => arguments.output.json,
            Command::Equivocations(arguments) => arguments.output.json,
            Command::Peers(arguments) => arguments.output.json,
            Command::PopOff(arguments) => arguments.output.json,
            Command::Trust(arguments) => arguments.output.json,
            Command::ClearPool(arguments) => arguments.output.json,
            Command::Prune(arguments) => arguments.output.json,
            Command::Check(arguments) => arguments.output.json,
            Command::Snapshot(arguments) => arguments.output.json,
            Command::Restore(arguments) => arguments.output.json,
            Command::InitStore(arguments) | Command::AcceptStore(arguments) => {
                arguments.output.json
            }
        }
    }
}

/// Prefix of a passphrase where an account is expected.
const PASSPHRASE: &str = "passphrase:";
/// What is wrong with an empty passphrase. It is usually a variable of a shell that is not set.
const EMPTY_PASSPHRASE: &str = "the passphrase is empty";

/// Returns an account in the API's format. It is given as text, or as the passphrase of a test account.
fn account(text: &str) -> Result<String, Failure> {
    if let Some(passphrase) = text.strip_prefix(PASSPHRASE) {
        if passphrase.is_empty() {
            return Err(bad_value(EMPTY_PASSPHRASE));
        }
        let key = chain::key_of_passphrase(passphrase);
        return match key.public() {
            primitives::PublicKey::Ed25519(key) => Ok(chain::AccountId::of_key(key).to_string()),
            _ => Err(bad_value("a passphrase stands for no such key")),
        };
    }
    let account = text.parse::<chain::AccountId>();
    account
        .map(|account| account.to_string())
        .map_err(|error| bad_value(format!("'{text}': {error}")))
}

/// Returns the failure for an answer of a node that does not fit.
fn bad_answer(message: impl Into<String>) -> Failure {
    let hint = "Check that the node and this program have the same version.";
    Failure::local("tally.bad_value", message, hint)
}

/// Returns the failure for an invalid value on the command line.
fn bad_value(message: impl Into<String>) -> Failure {
    Failure::usage(
        "tally.bad_value",
        message,
        "Correct what the message names; 'tally chain COMMAND --help' says what is expected.",
    )
}
