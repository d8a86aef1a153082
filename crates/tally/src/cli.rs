//! The commands of the command line, and their dispatch.

use clap::{CommandFactory, Parser, Subcommand};

use crate::commands::{
    api, attachment, chain, completions, contract, db, doctor, flow, ledger, network, node, notary,
    recover, tx, user, vault,
};
use crate::failure::{EXIT_CODES, Failure};
use crate::{Register, bench, demo, lab};

/// A distributed ledger, and a laboratory that measures the load it sustains.
#[derive(Debug, Parser)]
#[command(name = "tally", version, after_help = EXIT_CODES)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make the folders of a new network, or inspect a network
    #[command(subcommand)]
    Network(network::Command),
    /// Run, inspect or drain a node
    #[command(subcommand)]
    Node(node::Command),
    /// A public chain: make a test network, run a node, pay, forge, bundle
    #[command(subcommand)]
    Chain(chain::Command),
    /// Inspect a notary, and check proofs of equivocation
    #[command(subcommand)]
    Notary(notary::Command),
    /// Start and manage flows
    #[command(subcommand)]
    Flow(flow::Command),
    /// Balances and states of a node
    #[command(subcommand)]
    Vault(vault::Command),
    /// The data of a stopped node on a database server: make the tables, check, move
    #[command(subcommand)]
    Db(db::Command),
    /// Transactions
    #[command(subcommand)]
    Tx(tx::Command),
    /// Files that transactions refer to: upload, download, list, trust, remove
    #[command(subcommand)]
    Attachment(attachment::Command),
    /// Recorded transactions of a node, in order
    #[command(subcommand)]
    Ledger(ledger::Command),
    /// Contracts of a node's binary, and which upgrades and changes of notary it signs
    #[command(subcommand)]
    Contract(contract::Command),
    /// Any operation of a node's API, by its id
    #[command(subcommand)]
    Api(api::Command),
    /// Users of a node, their permissions and tokens
    #[command(subcommand)]
    User(user::Command),
    /// Recover a node that runs on an older copy of its data: fetch lost data from the other nodes, then continue
    Recover(recover::Args),
    /// Check a node's folder and machine, and suggest an action for each finding
    Doctor(doctor::Args),
    /// Print shell completions of this command line
    Completions(completions::Args),
    /// Write manual pages of every command into a folder
    Man(completions::ManArgs),
    /// A notary and two nodes pay each other under load: audited, measured, cleaned up
    Demo(demo::DemoArgs),
    /// The laboratory: scenarios against real networks, measured, audited, reported
    #[command(subcommand)]
    Lab(lab::Command),
    /// A benchmark; one line of JSON, last on standard output
    Bench(bench::BenchArgs),
}

impl Command {
    /// Returns whether errors are reported as JSON too.
    pub fn wants_json(&self) -> bool {
        match self {
            Command::Network(command) => command.wants_json(),
            Command::Node(command) => command.wants_json(),
            Command::Chain(command) => command.wants_json(),
            Command::Notary(command) => command.wants_json(),
            Command::Flow(command) => command.wants_json(),
            Command::Vault(command) => command.wants_json(),
            Command::Db(command) => command.wants_json(),
            Command::Tx(command) => command.wants_json(),
            Command::Attachment(command) => command.wants_json(),
            Command::Ledger(command) => command.wants_json(),
            Command::Contract(command) => command.wants_json(),
            Command::Api(command) => command.wants_json(),
            Command::User(command) => command.wants_json(),
            Command::Recover(arguments) => arguments.output.json,
            Command::Doctor(arguments) => arguments.output.json,
            Command::Lab(command) => command.wants_json(),
            Command::Completions(_) | Command::Man(_) => false,
            Command::Demo(_) | Command::Bench(_) => false,
        }
    }
}

/// Runs a command to its end. A node starts with the contracts and flows that `register` adds.
pub fn run(command: Command, register: Register) -> Result<(), Failure> {
    match command {
        Command::Network(command) => command.run(),
        Command::Node(command) => command.run(register),
        Command::Chain(command) => command.run(),
        Command::Notary(command) => command.run(),
        Command::Flow(command) => command.run(),
        Command::Vault(command) => command.run(register),
        Command::Db(command) => command.run(),
        Command::Tx(command) => command.run(),
        Command::Attachment(command) => command.run(),
        Command::Ledger(command) => command.run(),
        Command::Contract(command) => command.run(),
        Command::Api(command) => command.run(),
        Command::User(command) => command.run(),
        Command::Recover(arguments) => arguments.run(),
        Command::Doctor(arguments) => arguments.run(register),
        Command::Completions(arguments) => arguments.run(Cli::command(), program()),
        Command::Man(arguments) => arguments.run(Cli::command(), program()),
        Command::Lab(command) => command.run(),
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Bench(arguments) => bench::run(arguments),
    }
}

/// Returns the name of this program, which differs from `tally` in a custom application.
pub fn program() -> String {
    // If the system does not tell the path, the program has its usual name.
    let path = std::env::current_exe().unwrap_or_default();
    let name = path.file_name().and_then(|name| name.to_str());
    name.unwrap_or("tally").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn usual_command_lines_parse() {
        for line in [
            "network bootstrap NETWORK.toml --out nodes",
            "node run nodes/bank-a --log debug --log-format json --drain-seconds 5",
            "node info --node nodes/bank-a --json",
            "node drain --node nodes/bank-a",
            "node peers --node nodes/bank-a --json",
            "network show --node nodes/bank-a",
            "network check nodes --json",
            "network map --node nodes/bank-a --json",
            "chain genesis --out net --servers 4 --profile loadtest --block-seconds 2 --json",
            "chain run net/server1 --log debug",
            "chain status --node net/server1 --json",
            "chain send --node net/server1 --passphrase 0 --to passphrase:1 --amount 1.5 --chain AMB --wait 1",
            "chain tx --node net/server1 00 --smallest-unit",
            "chain account --node net/server1 passphrase:0 --limit 5 --chain AMB --before 9-0 --json",
            "chain balance --node net/server1 passphrase:0 TLY-00000",
            "chain blocks --node net/server1 5 --transactions full --json",
            "chain blocks --node net/server1 --before 9 --limit 3",
            "chain forge --node net/server1 --start --passphrase 0",
            "chain forge --node net/server1 --stop passphrase:0",
            "chain bundle --node net/server1 --start AMB --rate 1AMB --total 5TLY --passphrase-stdin",
            "chain equivocations --node net/server1 --limit 5 --json",
            "chain peers --node net/server1",
            "chain check net/server1 --json",
            "chain snapshot --node net/server1 before-upgrade",
            "chain restore net/server1 net/server1/data/snapshots/before-upgrade",
            "notary info --node nodes/notary",
            "notary consumed --node nodes/notary 00(1)",
            "notary consumed --node nodes/notary --after 00(1) --limit 5",
            "notary requests --node nodes/notary --limit 5 --json",
            "notary requests --node nodes/notary 00",
            "user disable --node nodes/bank-a ann",
            "user revoke-tokens --url https://h:1 --root r --token-file t ann",
            "flow start --node nodes/bank-a --flow cash.issue --args {} --wait delivered --client-id x --timeout 5",
            "flow get --url https://127.0.0.1:1 --root r.pem --token-file t --server-name n 00 --wait delivered",
            "flow list --node nodes/bank-a --limit 10",
            "flow cancel --node nodes/bank-a 00",
            "vault balances --node nodes/bank-a",
            "vault states --node nodes/bank-a --limit 10 --after 3",
            "vault rebuild --node nodes/bank-a --json",
            "tx show --node nodes/bank-a 00 --json",
            "attachment upload --node nodes/bank-a a.pdf --name b.pdf --media-type application/pdf --resume 00 --json",
            "attachment download --node nodes/bank-a 00 --out - --force",
            "attachment list --node nodes/bank-a --name a --untrusted --unreferenced --after 00 --limit 5 --json",
            "attachment show --node nodes/bank-a 00 --json",
            "attachment trust --node nodes/bank-a 00 --withdraw",
            "attachment remove --node nodes/bank-a 00",
            "ledger list --node nodes/bank-a",
            "contract list --node nodes/bank-a --json",
            "contract authorise --node nodes/bank-a a.b@1 a.b@2",
            "contract withdraw --node nodes/bank-a 00 01 --json",
            "contract notary-changes --node nodes/bank-a refuse",
            "contract consents --node nodes/bank-a",
            "doctor --node nodes/bank-a --json",
            "api list --chain --json",
            "api call --node nodes/bank-a addNote transaction_id=00 --body {}",
            "user add --node nodes/bank-a ann --grant flow.start:cash.* --password-stdin",
            "user token --node nodes/bank-a ann --days 30 --json",
            "completions bash",
            "man --out man",
            "demo",
            "bench ledger",
            "lab compare issue --set-b run.seconds=1 --pairs 12 --fail-on-change",
            "lab compare out-a out-b --axis side --json",
            "lab selftest --fake --json",
            "lab list --json",
            "lab size --target 500 --scenario issue --set work.states=5 --seconds 2 --repeats 2 --json",
            "lab size --target 500 --p99-ms 200 --retention 5y",
            "lab show issue --full --set run.seconds=2 --set seed=3",
            "lab check a.toml b.toml --json",
            "lab run issue mine.toml --full --set run.seconds=2 --out report --json --keep",
            "lab run issue --dry-run",
        ] {
            let words = std::iter::once("tally").chain(line.split(' '));
            Cli::try_parse_from(words).unwrap_or_else(|error| panic!("{line}: {error}"));
        }
        for line in [
            "",
            "flow start",
            "flow start --flow x --wait soon",
            "user grant --node a ann flow.strat",
            "user add --node a ann --password secret",
            "node info --node a --url b",
            "vault states --limit -1",
            "lab show",
            "lab size --target 0 --scenario issue",
            "lab size --target 500 --p99-ms 0",
            "lab size --target 500 --retention 5",
            "lab size --target 500 --retention 101y",
            "lab check",
            "lab run --json",
        ] {
            let words = std::iter::once("tally").chain(line.split(' '));
            assert!(Cli::try_parse_from(words).is_err(), "{line}");
        }
    }
}
