//! `tally node info`

use api::{HealthWarning, NodeState, NodeView};
use serde::Serialize;

use crate::failure::Failure;
use crate::output::{Ink, Output, grouped, pairs, stdout_ink};
use crate::target::Target;

/// Arguments of `tally node info`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    pub output: Output,
}

/// The node with the warnings of its health.
#[derive(Debug, Serialize)]
struct Shown {
    #[serde(flatten)]
    node: NodeView,
    warnings: Vec<HealthWarning>,
}

impl Args {
    pub fn run(self) -> Result<(), Failure> {
        self.target.with_client(async |client| {
            let shown = Shown {
                node: client.node().await?,
                warnings: client.health().await?.warnings,
            };
            self.output.show(&shown, people)
        })
    }
}

fn people(shown: &Shown) -> String {
    let Shown { node, warnings } = shown;
    let told: Vec<String> = warnings
        .iter()
        .map(|warning| format!("{}: {}", warning.code, warning.message))
        .collect();
    let colour = match node.state {
        NodeState::Ready if !told.is_empty() => Ink::YELLOW,
        NodeState::Ready => Ink::GREEN,
        NodeState::Failed => Ink::RED,
        _ => Ink::YELLOW,
    };
    let role = match &node.notary {
        Some(notary) if notary.validating => "notary, validating",
        Some(_) => "notary",
        None => "node",
    };
    let lines = |values: &[String]| {
        if values.is_empty() {
            "none".to_owned()
        } else {
            values.join("\n")
        }
    };
    let flows: Vec<String> = node
        .flows
        .iter()
        .map(|flow| format!("{} ({})", flow.name, flow.arguments.join(", ")))
        .collect();
    pairs(&[
        ("name", node.name.clone()),
        ("party", node.party_id.clone()),
        ("role", role.to_owned()),
        ("state", stdout_ink().paint(colour, node.state.as_str())),
        ("warnings", lines(&told)),
        (
            "version",
            format!("{} (platform {})", node.version, node.platform_version),
        ),
        ("addresses", lines(&node.addresses)),
        ("peers", lines(&node.peers)),
        ("up for", format!("{} s", grouped(node.uptime_ms / 1_000))),
        (
            "flows",
            format!(
                "{} in flight ({} retrying, {} parked, {} paused), {} queued",
                node.flows_in_flight,
                node.flows_retrying,
                node.flows_parked,
                node.flows_paused,
                node.flows_queued
            ),
        ),
        (
            "ledger",
            format!(
                "position {}, vault's view at {}",
                node.ledger_seq, node.view_seq
            ),
        ),
        ("can start", lines(&flows)),
    ])
}
