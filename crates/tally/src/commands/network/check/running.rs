//! Checks of running nodes: their answers, their connected peers, versions and clocks.

use std::collections::BTreeSet;
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use api::{Health, NetworkView, NodeView, PeersView};
use client::ClientError;

use super::codes;
use super::finding::Finding;
use super::folders::Folder;
use crate::commands::doctor::{
    Verdict, certificates, is_outdated, not_ready, offset_of_others_ms, severity,
};
use crate::failure::Failure;
use crate::target::Target;

/// Maximum time for a node's answer.
const ANSWER_MAX: Duration = Duration::from_secs(5);
/// Maximum time for a connection.
const CONNECT_MAX: Duration = Duration::from_secs(3);
/// Offset between maintained clocks, including the network's delay.
const OFFSET_LOW_MS: u64 = 1_000;
/// At this offset time windows are missed.
const OFFSET_MAX_MS: u64 = 30_000;

/// The codes of a node's warnings about its certificates.
const CERTIFICATES: [&str; 2] = ["bootstrap.certificate_ends", "bootstrap.root_ends"];

/// The answers of a node.
struct Answers {
    health: Health,
    node: NodeView,
    network: NetworkView,
    peers: PeersView,
}

/// Asks each node, and looks for nodes without a folder.
pub fn check(folders: &[Folder]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut met = BTreeSet::new();
    let mut any_runs = false;
    for folder in folders {
        match ask(folder) {
            Ok(answers) => {
                any_runs = true;
                met.insert(answers.node.name.clone());
                let peers = answers.peers.peers.iter().filter(|peer| peer.connected);
                met.extend(peers.map(|peer| peer.name.clone()));
                findings.extend(answered(folder, &answers));
            }
            Err(Silence::Away) => findings.push(away(folder)),
            Err(Silence::Other(why)) => {
                findings.push(Finding::problem(&folder.name, &codes::OTHER_NODE, why));
            }
        }
    }
    if !any_runs && let Some(folder) = folders.first() {
        findings.extend(reached(folder, folders));
    }
    findings
}

/// The reason why there is no answer.
enum Silence {
    /// No process listens.
    Away,
    /// Another process listens.
    Other(String),
}

fn ask(folder: &Folder) -> Result<Answers, Silence> {
    let target = Target::of(&folder.files.dir);
    let asked = target.with_client(async |client| {
        let all = async {
            Ok::<_, ClientError>(Answers {
                health: client.health().await?,
                node: client.node().await?,
                network: client.network().await?,
                peers: client.peers().await?,
            })
        };
        let late = |_| Failure::local("client.timeout", "no answer", "");
        tokio::time::timeout(ANSWER_MAX, all).await.map_err(late)
    });
    match asked {
        Ok(Ok(answers)) if answers.node.name == folder.files.info.party.name.to_string() => {
            Ok(answers)
        }
        Ok(Ok(answers)) => Err(Silence::Other(format!("{} answers", answers.node.name))),
        Ok(Err(ClientError::NotConnected { .. })) => Err(Silence::Away),
        Ok(Err(error)) => Err(Silence::Other(error.to_string())),
        Err(_) => Err(Silence::Other(
            "it does not answer in time, or its folder lacks a token".to_owned(),
        )),
    }
}

fn is_notary(folder: &Folder) -> bool {
    folder.files.info.notary.is_some()
}

fn away(folder: &Folder) -> Finding {
    let found = format!("it does not run at {}", folder.files.config.api.listen);
    match is_notary(folder) {
        true => Finding::problem(&folder.name, &codes::NOTARY_AWAY, found),
        false => Finding::warning(&folder.name, &codes::NODE_AWAY, found),
    }
}

/// Returns the findings from a running node's answers.
fn answered(folder: &Folder, answers: &Answers) -> Vec<Finding> {
    let (
        name,
        Answers {
            health,
            node,
            network,
            peers,
        },
    ) = (&folder.name, answers);
    let mut findings: Vec<Finding> = not_ready(health)
        .map(|(verdict, found)| Finding {
            verdict,
            ..Finding::warning(name, &codes::NODE_STATE, format!("it is {found}"))
        })
        .into_iter()
        .collect();
    findings.extend(warnings(folder, health));
    if is_outdated(network, &folder.files.network) {
        let found = "it runs with other parameters or nodes than its folder has";
        findings.push(Finding::warning(name, &codes::RESTART_NEEDED, found));
    }
    let version = env!("CARGO_PKG_VERSION");
    if node.version != version {
        let found = format!("it runs {}, this program is {version}", node.version);
        findings.push(Finding::warning(name, &codes::VERSIONS_DIFFER, found));
    }
    for peer in peers.peers.iter().filter(|peer| !peer.connected) {
        let found = format!("it is not connected with {}", peer.name);
        findings.push(match network.notaries.contains(&peer.name) {
            true => Finding::problem(name, &codes::NOTARY_AWAY, found),
            false => Finding::warning(name, &codes::NODE_AWAY, found),
        });
    }
    findings.extend(clock(name, peers));
    if findings.is_empty() {
        let found = format!(
            "it runs {version}, is {}, and has met all {} others",
            node.state.as_str(),
            peers.peers.len()
        );
        findings.push(Finding::ok(name, found));
    }
    findings
}

/// Returns the warnings of a node's health. Those about its certificates are left out if its folder has a finding on them.
fn warnings(folder: &Folder, health: &Health) -> Vec<Finding> {
    let mut lasting = certificates(&folder.files).into_iter();
    let lasting = lasting.all(|finding| finding.verdict == Verdict::Ok);
    let told = health.warnings.iter();
    let told = told.filter(|warning| lasting || !CERTIFICATES.contains(&warning.code.as_str()));
    let findings = told.map(|warning| Finding {
        code: warning.code.clone(),
        verdict: severity(warning),
        action: warning.hint.clone(),
        ..Finding::ok(&folder.name, warning.message.clone())
    });
    findings.collect()
}

/// Checks the clock against the median of all clocks, so that a peer whose clock is off leaves the others without a finding.
fn clock(name: &str, peers: &PeersView) -> Option<Finding> {
    let middle = offset_of_others_ms(peers)?;
    let found = format!("its peers' clocks are at {middle:+} ms");
    match middle.unsigned_abs() {
        ..OFFSET_LOW_MS => None,
        OFFSET_LOW_MS..OFFSET_MAX_MS => Some(Finding::warning(name, &codes::CLOCKS_DIFFER, found)),
        _ => Some(Finding::problem(name, &codes::CLOCKS_DIFFER, found)),
    }
}

/// Checks whether a process listens at the addresses of nodes without a folder here. Used if no node runs that could name its
/// peers.
fn reached(from: &Folder, folders: &[Folder]) -> Vec<Finding> {
    let network = &from.files.network;
    let mut findings = Vec::new();
    for (id, info) in network.nodes() {
        if folders.iter().any(|f| f.files.info.party.id() == *id) {
            continue;
        }
        let name = info.party.name.to_string();
        let listens = |address: &&String| {
            let found = address.to_socket_addrs().into_iter().flatten();
            found
                .take(4)
                .any(|at| TcpStream::connect_timeout(&at, CONNECT_MAX).is_ok())
        };
        findings.push(match info.addresses.iter().find(listens) {
            Some(address) => Finding::ok(&name, format!("a process listens at {address}")),
            None => {
                let found = format!("no process listens at {}", info.addresses.join(", "));
                match network.is_notary(id) {
                    true => Finding::problem(&name, &codes::NOTARY_AWAY, found),
                    false => Finding::warning(&name, &codes::NODE_AWAY, found),
                }
            }
        });
    }
    findings
}
