//! Checks whether the node runs or its ports are free, and whether it runs this version.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;

use api::{Balances, Health, NodeView};
use client::Client;
use node::bootstrap::NodeFiles;
use node::config::NodeConfig;

use super::finding::Finding;
use super::peers::Answers;
use super::quarantine;
use crate::failure::Failure;
use crate::target::Target;

/// Maximum time for the node's answer.
pub const ANSWER_MAX: std::time::Duration = std::time::Duration::from_secs(5);
/// The part of it that balances may take: they wait for the vault's view.
const BALANCES_MAX: std::time::Duration = std::time::Duration::from_secs(2);

/// The process that is found at a folder's ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// The folder's node, which answers.
    Node,
    /// A process has the folder's store open, and does not answer.
    Silent,
    /// No process has the folder's store open.
    None,
    /// The folder's files can't be read, so the doctor can't tell.
    Unknown,
}

impl Holder {
    /// Returns the holder, given whether the node answers and whether its store is in use.
    pub fn of(answers: bool, is_in_use: bool) -> Self {
        match (answers, is_in_use) {
            (true, _) => Self::Node,
            (false, true) => Self::Silent,
            (false, false) => Self::None,
        }
    }
}

/// Checks ports and versions of a ledger's node. `this` is its answer, and `known` are the findings on its folder.
pub fn check(
    folder: &Path,
    config: &NodeConfig,
    files: Option<&NodeFiles>,
    this: Option<&NodeView>,
    holder: Holder,
    known: &[Finding],
) -> Vec<Finding> {
    let mut findings = vec![
        port("p2p port", config.p2p.listen, holder),
        port("API port", config.api.listen, holder),
        version(this.map(|view| view.version.as_str())),
    ];
    if this.is_some() {
        let map = files.map(|files| &files.network);
        findings.extend(match answers(folder) {
            Some(answers) => super::peers::check(&answers, map, known),
            None => vec![Finding::problem(
                "state",
                "the node runs, but does not say how it is",
                "Read the node's log.",
            )],
        });
    }
    findings
}

/// Returns the answer of the folder's node, if it runs.
pub fn this_node(folder: &Path, config: &NodeConfig) -> Option<NodeView> {
    let name = config.node.name.to_string();
    running(folder).filter(|view| view.name == name)
}

/// Returns the node's answer, if it runs.
fn running(folder: &Path) -> Option<NodeView> {
    let target = Target::of(folder);
    let asked = target.with_client(async |client| {
        let answer = tokio::time::timeout(ANSWER_MAX, client.node()).await;
        let late = |_| Failure::local("tally.runtime", "no answer", "");
        Ok(answer.map_err(late)??)
    });
    asked.ok()
}

/// Returns the node's answers about itself and its peers.
fn answers(folder: &Path) -> Option<Answers> {
    let target = Target::of(folder);
    let asked = target.with_client(async |client| {
        let all = async {
            let health = client.health().await?;
            Ok::<_, Failure>(Answers {
                balances: quarantined_balances(&client, &health).await,
                health,
                network: client.network().await?,
                peers: client.peers().await?,
            })
        };
        let answer = tokio::time::timeout(ANSWER_MAX, all).await;
        answer.map_err(|_| Failure::local("tally.runtime", "no answer", ""))?
    });
    asked.ok()
}

/// Returns the balances if states are in quarantine. A view that is slow or does not answer has a finding of its own.
async fn quarantined_balances(client: &Client, health: &Health) -> Option<Balances> {
    if !quarantine::is_any(health) {
        return None;
    }
    let answer = tokio::time::timeout(BALANCES_MAX, client.balances()).await;
    answer.ok()?.ok()
}

/// Checks that a port is free, or that the node has it.
pub fn port(check: &'static str, listen: SocketAddr, holder: Holder) -> Finding {
    match (holder, TcpListener::bind(listen)) {
        (Holder::Node, _) => Finding::ok(check, format!("{listen}, the node runs")),
        (Holder::Silent, Ok(_)) => Finding::ok(check, format!("{listen} is free")),
        (Holder::Silent, Err(_)) => {
            Finding::ok(check, format!("{listen} is in use, as the node's store is"))
        }
        (Holder::Unknown, Ok(_)) => Finding::ok(check, format!("{listen} is free")),
        (Holder::Unknown, Err(_)) => {
            Finding::ok(check, format!("{listen} is in use, perhaps by this node"))
        }
        (Holder::None, Ok(_)) => {
            Finding::ok(check, format!("{listen} is free, the node does not run"))
        }
        (Holder::None, Err(error)) => Finding::problem(
            check,
            format!("{listen}: {error}"),
            format!(
                "See who has it ('ss -ltnp sport = :{}') and end that, or listen elsewhere.",
                listen.port()
            ),
        ),
    }
}

/// Compares the version of a running node with this program's.
pub fn version(running: Option<&str>) -> Finding {
    const CHECK: &str = "version";
    let own = env!("CARGO_PKG_VERSION");
    match running {
        Some(version) if version != own => Finding::warning(
            CHECK,
            format!("the node runs {version}, this program is {own}"),
            "Restart the node to run the new version; drain a node of a ledger first with 'tally node drain'.",
        ),
        _ => Finding::ok(CHECK, own),
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::Verdict;
    use super::*;

    #[test]
    fn a_port_that_another_has_is_a_problem() {
        let other = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let taken = other.local_addr().expect("an address");
        for (holder, verdict) in [
            (Holder::None, Verdict::Problem),
            (Holder::Silent, Verdict::Ok),
            (Holder::Unknown, Verdict::Ok),
            (Holder::Node, Verdict::Ok),
        ] {
            assert_eq!(port("API port", taken, holder).verdict, verdict);
        }
        drop(other);
        assert_eq!(port("API port", taken, Holder::None).verdict, Verdict::Ok);
    }
}
