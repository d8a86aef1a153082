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

/// Checks ports and versions of a ledger's node.
pub fn check(folder: &Path, config: &NodeConfig, files: Option<&NodeFiles>) -> Vec<Finding> {
    let running = running(folder);
    let is_this = |view: &&NodeView| {
        files.is_some_and(|files| files.info.party.name.to_string() == view.name)
    };
    let this = running.as_ref().filter(is_this);
    let mut findings = vec![
        port("p2p port", config.p2p.listen, this.is_some()),
        port("API port", config.api.listen, this.is_some()),
        version(this.map(|view| view.version.as_str())),
    ];
    if this.is_some() {
        findings.extend(match answers(folder) {
            Some(answers) => super::peers::check(&answers),
            None => vec![Finding::problem(
                "state",
                "the node runs, but does not say how it is",
                "Read the node's log.",
            )],
        });
    }
    findings
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
pub fn port(check: &'static str, listen: SocketAddr, runs: bool) -> Finding {
    match TcpListener::bind(listen) {
        _ if runs => Finding::ok(check, format!("{listen}, the node runs")),
        Ok(_) => Finding::ok(check, format!("{listen} is free, the node does not run")),
        Err(error) => Finding::problem(
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
        assert_eq!(port("API port", taken, false).verdict, Verdict::Problem);
        assert_eq!(port("API port", taken, true).verdict, Verdict::Ok);
        drop(other);
        assert_eq!(port("API port", taken, false).verdict, Verdict::Ok);
    }
}
