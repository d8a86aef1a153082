//! `tally notary`: the state of a notary, its consumed states, and the requests to it.

mod equivocations;
mod record;
mod requests;

use api::{ConsumedEntry, ConsumedPage, NodeView};
use clap::Subcommand;
use serde_json::json;

use crate::failure::Failure;
use crate::output::{Output, Table, grouped, pairs, stdout_ink};
use crate::target::Target;

/// An index above any output index of a transaction. It marks the end of a transaction's states in the notary's order.
const LAST_INDEX: u32 = 999_999_999;

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show a notary's kind, requests and states
    Info(Info),
    /// Show consumed states with their consuming transactions, or only one state
    Consumed(Consumed),
    /// Show transactions that the notary has signed, with requesters and times
    Requests(requests::Requests),
    /// Show proofs that a notary signed two consumers of a state, as a node found them; export one to a file
    Equivocations(equivocations::Equivocations),
    /// Check an exported proof; needs no node
    CheckProof(equivocations::CheckProof),
    /// Show the database that the workers of a replicated notary share
    Status(record::Status),
    /// Read the whole record of a replicated notary, and report every inconsistency
    Audit(record::AuditRecord),
    /// Move the data of a stopped notary to the database of the workers that take its place
    Migrate(record::Migrate),
}

/// Arguments of `tally notary info`.
#[derive(Debug, clap::Args)]
pub struct Info {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    output: Output,
}

/// Arguments of `tally notary consumed`.
#[derive(Debug, clap::Args)]
pub struct Consumed {
    #[command(flatten)]
    target: Target,
    /// A state: the transaction's id, then its index in parentheses
    #[arg(conflicts_with = "after")]
    state: Option<String>,
    /// After this state
    #[arg(long, value_name = "STATE")]
    after: Option<String>,
    /// Maximum number of states
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    #[command(flatten)]
    output: Output,
}

impl Command {
    pub fn run(self) -> Result<(), Failure> {
        match self {
            Command::Info(arguments) => arguments.run(),
            Command::Consumed(arguments) => arguments.run(),
            Command::Requests(arguments) => arguments.run(),
            Command::Equivocations(arguments) => arguments.run(),
            Command::CheckProof(arguments) => arguments.run(),
            Command::Status(arguments) => arguments.run(),
            Command::Audit(arguments) => arguments.run(),
            Command::Migrate(arguments) => arguments.run(),
        }
    }

    pub fn wants_json(&self) -> bool {
        match self {
            Command::Info(arguments) => arguments.output.json,
            Command::Consumed(arguments) => arguments.output.json,
            Command::Requests(arguments) => arguments.output.json,
            Command::Equivocations(arguments) => arguments.output.json,
            Command::CheckProof(arguments) => arguments.output.json,
            Command::Status(arguments) => arguments.output.json,
            Command::Audit(arguments) => arguments.output.json,
            Command::Migrate(arguments) => arguments.output.json,
        }
    }
}

impl Info {
    fn run(self) -> Result<(), Failure> {
        self.target.with_client(async |client| {
            let node = client.node().await?;
            let metrics = client.metrics().await?;
            let view = view(&node, &metrics);
            self.output.show(&view, |view| people(&node, view))
        })
    }
}

/// Returns a notary's figures from its metrics.
fn view(node: &NodeView, metrics: &str) -> serde_json::Value {
    let count = |verdict: &str| {
        metric(
            metrics,
            &format!("tally_notary_requests_total{{verdict=\"{verdict}\"}}"),
        )
    };
    json!({
        "name": node.name,
        "notary": node.notary,
        "state": node.state,
        "requests": {
            "signed": count("signed"),
            "conflict": count("conflict"),
            "refused": count("refused"),
            "busy": count("busy"),
            "waiting": metric(metrics, "tally_notary_queued"),
        },
        "states_consumed": metric(metrics, "tally_notary_states_total"),
    })
}

fn people(node: &NodeView, view: &serde_json::Value) -> String {
    let kind = match &node.notary {
        Some(notary) if notary.validating => "validating: it sees and checks whole transactions",
        Some(_) => "not validating: it sees what it needs to keep states unique",
        None => "this node is no notary",
    };
    // A number that the view lacks has not been counted.
    let number = |value: &serde_json::Value| grouped(value.as_u64().unwrap_or(0));
    let of = |name: &str| number(&view["requests"][name]);
    pairs(&[
        ("name", node.name.clone()),
        ("kind", kind.to_owned()),
        ("state", node.state.as_str().to_owned()),
        ("signed", of("signed")),
        ("conflicts", of("conflict")),
        ("refused", of("refused")),
        ("told to wait", of("busy")),
        ("waiting now", of("waiting")),
        ("states consumed", number(&view["states_consumed"])),
    ]) + "\nCounted since the node's start."
}

/// Returns the value of a line of Prometheus text. A counter without a line has counted nothing.
fn metric(text: &str, name: &str) -> u64 {
    let value = text.lines().find_map(|line| {
        let value = line.strip_prefix(name)?.strip_prefix(' ')?;
        value.parse().ok()
    });
    value.unwrap_or(0)
}

impl Consumed {
    fn run(self) -> Result<(), Failure> {
        self.target.with_client(async |client| {
            let Some(state) = &self.state else {
                let page = client.consumed(self.after.as_deref(), self.limit).await?;
                return self.output.show(&page, table);
            };
            let before = before(state).ok_or_else(|| bad_state(state))?;
            let page = client.consumed(Some(&before), 1).await?;
            let found = page.entries.into_iter().find(|e| e.state_ref == *state);
            let entry = found.ok_or_else(|| {
                Failure::local(
                    "tally.not_consumed",
                    format!("the notary has not seen {state} consumed"),
                    "Check the state, and that this is its notary: 'tally tx show' names it.",
                )
            })?;
            self.output
                .show(&entry, |entry: &ConsumedEntry| entry.consumed_by.clone())
        })
    }
}

/// Returns the state just before this one in the notary's order.
fn before(state: &str) -> Option<String> {
    let (id, index) = state.strip_suffix(')')?.split_once('(')?;
    let index: u32 = index.parse().ok()?;
    let bytes = primitives::hex::decode(id).filter(|bytes| bytes.len() == 32)?;
    if let Some(index) = index.checked_sub(1) {
        return Some(format!("{id}({index})"));
    }
    // The last state of the id below. The lowest id has none, but no transaction has that id.
    let bytes = below(bytes)?;
    Some(format!("{}({LAST_INDEX})", primitives::hex::encode(&bytes)))
}

/// Returns the next lower number with the same length.
fn below(mut bytes: Vec<u8>) -> Option<Vec<u8>> {
    let at = bytes.iter().rposition(|byte| *byte != 0)?;
    bytes[at] -= 1;
    bytes[at + 1..].fill(0xff);
    Some(bytes)
}

fn bad_state(state: &str) -> Failure {
    Failure::usage(
        "tally.bad_state",
        format!("'{state}' is no state"),
        "Write it as the ledger does: the transaction's id, then the index in parentheses, quoted for the shell.",
    )
}

fn table(page: &ConsumedPage) -> String {
    if page.entries.is_empty() {
        return "nothing".to_owned();
    }
    let mut table = Table::new(&["state", "consumed by"]);
    for entry in &page.entries {
        table.row([entry.state_ref.clone(), entry.consumed_by.clone()]);
    }
    let mut text = table.render(stdout_ink());
    if let Some(next) = &page.next {
        text.push_str(&format!("\nmore: --after '{next}'"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_before() {
        let id = "00".repeat(30);
        for (state, expected) in [
            (format!("{id}0100(3)"), Some(format!("{id}0100(2)"))),
            (format!("{id}0100(0)"), Some(format!("{id}00ff(999999999)"))),
            (format!("{id}0000(0)"), None),
            ("00(1)".to_owned(), None),
            (format!("{id}0100"), None),
        ] {
            assert_eq!(before(&state), expected, "{state}");
        }
        let text = "a_b 7\na 5\na{x=\"y\"} 6\n";
        assert_eq!(
            (
                metric(text, "a"),
                metric(text, "a{x=\"y\"}"),
                metric(text, "z")
            ),
            (5, 6, 0)
        );
    }
}
