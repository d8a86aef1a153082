//! The folder of a chain node, and the node if it runs.

use std::path::Path;

use api::chain::{ChainHealth, ChainPeers, ChainStatus, SyncState};
use node::bootstrap::BootstrapError;
use node::chain::{CONFIG, ChainConfig, ChainFiles, ChainStartError, load_chain_dir};
use primitives::{Coded, Timestamp};

use super::finding::Finding;
use super::ports::Holder;
use super::{folder, machine, of_disk, ports, start, token};
use crate::failure::Failure;
use crate::output::grouped;
use crate::target::Target;

/// Examines the folder of a chain node.
pub fn examine(folder: &Path) -> Vec<Finding> {
    let mut findings = Vec::new();
    let config = ChainConfig::read(&folder.join(CONFIG));
    findings.push(match &config {
        Ok(_) => Finding::ok("configuration", "of a chain node, read and checked"),
        Err(error) => {
            let found = format!("{}: {error}", error.code());
            Finding::problem("configuration", found, error.hint())
        }
    });
    findings.extend(folder::permissions(folder));
    let files = load_chain_dir(folder);
    match &files {
        Ok(files) => findings.extend(of_files(files)),
        // The finding on the configuration has said so.
        Err(ChainStartError::Files(BootstrapError::Config(_))) if config.is_err() => {}
        Err(error) => {
            let found = format!("{}: {error}", error.code());
            findings.push(Finding::problem("files", found, error.hint()));
        }
    }
    let Ok(config) = config else {
        return findings;
    };
    findings.extend(of_disk(folder, &config.node.data_dir));
    let (connections, peers) = (config.api.connections_max, config.p2p.peers_max);
    findings.push(machine::open_files(connections, peers));
    let hashes = config.api.tokens.iter();
    let hashes = hashes.map(|entry| entry.sha256.as_str());
    findings.push(token::check(folder, CONFIG, hashes, None));
    findings.extend(of_process(folder, &config, files.ok().as_ref()));
    findings
}

fn of_files(files: &ChainFiles) -> Vec<Finding> {
    let genesis = &files.genesis;
    let network = format!("{}, genesis {}", genesis.network, genesis.hash);
    let mut findings = vec![Finding::ok("network", network)];
    findings.extend(folder::chain_certificates(files));
    let begun = Timestamp::from_ms(genesis.time_ms);
    findings.push(machine::clock("the network's genesis", begun));
    findings
}

/// The answers of a running node.
struct Answers {
    status: ChainStatus,
    health: ChainHealth,
    peers: ChainPeers,
}

/// Checks the store and the ports, and the node that listens there.
fn of_process(folder: &Path, config: &ChainConfig, files: Option<&ChainFiles>) -> Vec<Finding> {
    let answers = ask(folder);
    let is_this = |answers: &&Answers| {
        let genesis = files.map(|files| files.genesis.hash.to_string());
        genesis.as_ref() == Some(&answers.status.genesis) && answers.status.name == config.node.name
    };
    let this = answers.as_ref().filter(is_this);
    let software = this.map(|answers| answers.status.software.as_str());
    // Software is written as its name, a slash and its version.
    let version = software.and_then(|text| text.rsplit('/').next());
    let mut findings = Vec::new();
    let mut is_in_use = false;
    if this.is_some() {
        findings.push(Finding::ok("store", "open: the node runs"));
    } else if let Some(files) = files {
        let rehearsal = start::of_chain(files);
        is_in_use = rehearsal.is_in_use;
        findings.push(rehearsal.finding);
    }
    let holder = match files {
        None => Holder::Unknown,
        Some(_) => Holder::of(this.is_some(), is_in_use),
    };
    findings.extend([
        ports::port("p2p port", config.p2p.listen, holder),
        ports::port("API port", config.api.listen, holder),
        ports::version(version),
    ]);
    if let Some(answers) = this {
        findings.extend(running(answers, !config.p2p.seeds.is_empty()));
    }
    findings
}

fn ask(folder: &Path) -> Option<Answers> {
    let target = Target::of(folder);
    let asked = target.with_chain(async |client| {
        let all = async {
            Ok::<_, Failure>(Answers {
                status: client.status().await?,
                health: client.health().await?,
                peers: client.peers().await?,
            })
        };
        let answer = tokio::time::timeout(ports::ANSWER_MAX, all).await;
        answer.map_err(|_| Failure::local("tally.runtime", "no answer", ""))?
    });
    asked.ok()
}

/// Returns the findings from a running node's answers. `has_seeds`: its settings name nodes to connect to.
fn running(answers: &Answers, has_seeds: bool) -> Vec<Finding> {
    let mut findings = vec![
        state(&answers.health, answers.status.sync_target),
        connections(&answers.peers, has_seeds),
    ];
    findings.extend(answers.health.clock_jump_ms.map(jump));
    findings.extend(evidence(answers.health.equivocations));
    findings
}

fn state(health: &ChainHealth, sync_target: Option<u32>) -> Finding {
    const CHECK: &str = "state";
    if let Some(code) = &health.failure {
        return Finding::problem(
            CHECK,
            format!("the store refuses writes: {code}"),
            "Read the node's log, check the disk, and start the node again.",
        );
    }
    let height = grouped(health.height);
    match health.sync {
        SyncState::Synced => Finding::ok(CHECK, format!("synced, at height {height}")),
        SyncState::Syncing => {
            let target = sync_target.map(grouped);
            let target = target.map_or_else(String::new, |target| format!(" of {target}"));
            let found = format!("fetches blocks, at height {height}{target}");
            Finding::warning(CHECK, found, "Wait until it has all blocks of its peers.")
        }
        SyncState::Stuck => Finding::problem(
            CHECK,
            format!("stuck at height {height}: a better branch lies beyond the rollback limit"),
            "Find out which branch is right, then choose it with 'tally chain trust'; docs/guides/chain-forks.md explains it.",
        ),
    }
}

fn connections(peers: &ChainPeers, has_seeds: bool) -> Finding {
    const CHECK: &str = "peers";
    let connected = peers.peers.iter().filter(|peer| peer.connected).count();
    let banned = peers.peers.iter();
    let banned = banned.filter(|peer| peer.banned_for_ms.is_some()).count();
    let found = format!("connected with {connected}, {banned} banned");
    if connected == 0 && has_seeds {
        let action = "Check that the seeds in chain.toml run, and that this machine reaches their addresses.";
        return Finding::warning(CHECK, found, action);
    }
    if banned > 0 {
        let action = "'tally chain peers' shows the reasons. Many banned peers are a sign of another version or a wrong clock here.";
        return Finding::warning(CHECK, found, action);
    }
    Finding::ok(CHECK, found)
}

fn jump(jump_ms: i64) -> Finding {
    let found = format!("the machine's clock jumped by {jump_ms:+} ms from the chain's time");
    let action = "Correct the clock, and let NTP keep it (chrony or systemd-timesyncd).";
    Finding::problem("clock jump", found, action)
}

fn evidence(equivocations: u64) -> Option<Finding> {
    (equivocations > 0).then(|| {
        let count = grouped(equivocations);
        Finding::warning(
            "equivocations",
            format!("{count} proofs that a forger signed two blocks on one parent"),
            "'tally chain equivocations' shows them; a forger of this node must run on one node only.",
        )
    })
}

#[cfg(test)]
mod tests {
    use api::chain::ChainPeer;

    use super::super::finding::Verdict;
    use super::*;

    fn health(sync: SyncState, failure: Option<&str>) -> ChainHealth {
        ChainHealth {
            live: true,
            ready: failure.is_none(),
            height: 1_000,
            sync,
            failure: failure.map(str::to_owned),
            clock_jump_ms: None,
            equivocations: 0,
        }
    }

    #[test]
    fn the_state_follows_from_the_node_s_health() {
        for (sync, failure, target, verdict, found) in [
            (
                SyncState::Synced,
                None,
                None,
                Verdict::Ok,
                "synced, at height 1,000",
            ),
            (
                SyncState::Syncing,
                None,
                None,
                Verdict::Warning,
                "fetches blocks, at height 1,000",
            ),
            (
                SyncState::Syncing,
                None,
                Some(2_000),
                Verdict::Warning,
                "fetches blocks, at height 1,000 of 2,000",
            ),
            (
                SyncState::Stuck,
                None,
                None,
                Verdict::Problem,
                "stuck at height 1,000",
            ),
            (
                SyncState::Synced,
                Some("store.failed"),
                None,
                Verdict::Problem,
                "the store refuses writes: store.failed",
            ),
        ] {
            let finding = state(&health(sync, failure), target);
            assert_eq!(finding.verdict, verdict, "{}", finding.found);
            assert!(finding.found.starts_with(found), "{}", finding.found);
        }
    }

    #[test]
    fn a_node_with_seeds_needs_a_peer() {
        let peer = |connected, banned_for_ms| ChainPeer {
            id: String::new(),
            address: None,
            software: None,
            connected,
            direction: None,
            points: 0,
            banned_for_ms,
            reason: None,
            round_trip_ms: None,
        };
        for (has_seeds, met, verdict) in [
            (false, vec![], Verdict::Ok),
            (true, vec![], Verdict::Warning),
            (true, vec![peer(false, None)], Verdict::Warning),
            (true, vec![peer(true, None)], Verdict::Ok),
            (
                true,
                vec![peer(true, None), peer(false, Some(5))],
                Verdict::Warning,
            ),
        ] {
            let peers = ChainPeers {
                me: String::new(),
                listen: String::new(),
                peers: met,
            };
            let finding = connections(&peers, has_seeds);
            assert_eq!(finding.verdict, verdict, "{}", finding.found);
        }
    }

    #[test]
    fn the_folder_of_a_test_network_has_no_problem() {
        let out = tempfile::tempdir().expect("a folder");
        let plan = node::chain::NetworkPlan {
            network: "test".to_owned(),
            profile: "loadtest".to_owned(),
            block_seconds: None,
            servers: 1,
            ip: std::net::Ipv4Addr::LOCALHOST.into(),
            first_port: None,
            time_ms: 1_700_000_000_000,
        };
        let made = node::chain::make_network(&plan, out.path()).expect("made");
        let folder = &made[0].dir;
        let findings = examine(folder);
        let problems = findings.iter();
        let mut problems = problems.filter(|finding| finding.verdict == Verdict::Problem);
        assert_eq!(problems.next(), None, "{findings:?}");
        assert_eq!(findings[0].found, "of a chain node, read and checked");

        std::fs::write(folder.join(node::chain::GENESIS), "network = 1\n").expect("written");
        let findings = examine(folder);
        let about = findings.iter();
        let about = about.filter(|finding| finding.found.contains(node::chain::GENESIS));
        let checks: Vec<&str> = about.map(|finding| finding.check).collect();
        assert_eq!(checks, ["files"], "{findings:?}");
    }
}
