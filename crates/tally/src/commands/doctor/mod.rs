//! `tally doctor` checks the folder and the machine of a node of a ledger or of a chain, and recommends actions.

mod chain;
mod disk;
mod finding;
mod folder;
mod health;
mod machine;
mod map;
mod peers;
mod ports;
mod quarantine;
mod start;
mod stores;
mod token;

use std::path::{Path, PathBuf};

use node::bootstrap::{BootstrapError, load_node_dir};
use node::chain::is_chain_dir;
use node::config::NodeConfig;
use node::users::UsersFile;
use primitives::Coded;

pub use self::finding::Verdict;
use self::finding::{Finding, people};
pub use self::folder::certificates;
pub use self::health::{not_ready, severity};
pub use self::map::is_outdated;
pub use self::peers::offset_of_others_ms;
use self::ports::Holder;
use crate::Register;
use crate::failure::Failure;
use crate::output::Output;

/// The node's configuration file in its folder.
const CONFIG: &str = "node.toml";
/// The action if a folder is neither a node's nor a chain node's.
const NO_NODE: &str = "Give the folder of one node, with its node.toml or chain.toml. 'tally network check' examines all folders of a network.";

/// Arguments of `tally doctor`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The folder of a node or of a chain node
    #[arg(long, value_name = "DIR", env = "TALLY_NODE")]
    node: PathBuf,
    #[command(flatten)]
    pub output: Output,
}

impl Args {
    pub fn run(self, register: Register) -> Result<(), Failure> {
        let findings = examine(&self.node, register);
        self.output.show(&findings, |findings| people(findings))?;
        let problems = findings
            .iter()
            .filter(|finding| finding.verdict == Verdict::Problem)
            .count();
        if problems == 0 {
            return Ok(());
        }
        Err(Failure::local(
            "tally.unwell",
            format!("{problems} of {} checks found a problem", findings.len()),
            "Follow the hint of each problem, then repeat the command.",
        ))
    }
}

fn examine(folder: &Path, register: Register) -> Vec<Finding> {
    match is_chain_dir(folder) {
        true => chain::examine(folder),
        false => examine_ledger(folder, register),
    }
}

/// Examines the folder of a node of a ledger. A start is rehearsed with the contracts and flows that `register` adds.
fn examine_ledger(folder: &Path, register: Register) -> Vec<Finding> {
    let mut findings = Vec::new();
    let config = NodeConfig::read(&folder.join(CONFIG));
    findings.push(match &config {
        Ok(_) => Finding::ok("configuration", "read and checked"),
        Err(error) if !folder.join(CONFIG).exists() => {
            Finding::problem("configuration", error.to_string(), NO_NODE)
        }
        Err(error) => {
            let found = format!("{}: {error}", error.code());
            Finding::problem("configuration", found, error.hint())
        }
    });
    findings.extend(folder::permissions(folder));
    let files = load_node_dir(folder);
    match &files {
        Ok(files) => {
            findings.push(Finding::ok("identity", files.info.party.name.to_string()));
            findings.extend(folder::certificates(files));
            let signed = files.network.parameters().issued_at;
            let event = "the day the network's parameters were signed";
            findings.push(machine::clock(event, signed));
        }
        // The finding on the configuration has said so.
        Err(BootstrapError::Config(_)) if config.is_err() => {}
        Err(BootstrapError::Missing { path }) if *path == folder.join(CONFIG) => {}
        Err(error) => {
            let found = format!("{}: {error}", error.code());
            findings.push(Finding::problem("identity", found, error.hint()));
        }
    }
    let Ok(config) = config else {
        return findings;
    };
    findings.extend(of_disk(folder, &config.node.data_dir));
    let peers = files
        .as_ref()
        .map_or(0, |files| files.network.nodes().count());
    findings.push(machine::open_files(config.api.connections_max, peers));
    findings.push(folder::users(folder));
    let users = UsersFile::read(folder).ok();
    let hashes = config.api.tokens.iter();
    let hashes = hashes.map(|entry| entry.sha256.as_str());
    findings.push(token::check(folder, CONFIG, hashes, users.as_ref()));
    let files = files.ok();
    let this = ports::this_node(folder, &config);
    let mut is_in_use = false;
    if this.is_some() {
        findings.push(Finding::ok("store", "open: the node runs"));
    } else if files.is_some() {
        let rehearsal = start::of_ledger(folder, register);
        is_in_use = rehearsal.is_in_use;
        findings.push(rehearsal.finding);
    }
    let holder = match (&this, &files) {
        (None, None) => Holder::Unknown,
        _ => Holder::of(this.is_some(), is_in_use),
    };
    let known = &findings;
    let found = ports::check(
        folder,
        &config,
        files.as_ref(),
        this.as_ref(),
        holder,
        known,
    );
    findings.extend(found);
    findings
}

/// Checks the disk of a node's data, and measures its stores.
fn of_disk(folder: &Path, data_dir: &Path) -> Vec<Finding> {
    let data = folder.join(data_dir);
    // Before the first start there is no data folder.
    if !data.is_dir() {
        return vec![disk::speed(folder), disk::space(folder)];
    }
    vec![disk::speed(&data), disk::space(&data), stores::usage(&data)]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Registers no contract and no flow.
    fn nothing() -> Register {
        Box::new(|_, _| Ok(()))
    }

    #[test]
    fn an_invalid_configuration_is_reported_once() {
        for name in ["node.toml", "chain.toml"] {
            let folder = tempfile::tempdir().expect("a folder");
            std::fs::write(folder.path().join(name), "[node\n").expect("written");
            let findings = examine(folder.path(), nothing());
            let about = findings
                .iter()
                .filter(|finding| finding.found.contains(name));
            let checks: Vec<&str> = about.map(|finding| finding.check).collect();
            assert_eq!(checks, ["configuration"], "{findings:?}");
        }
    }

    #[test]
    fn a_folder_without_a_configuration_is_a_problem() {
        let folder = tempfile::tempdir().expect("a folder");
        let findings = examine(folder.path(), nothing());
        assert_eq!(findings[0].verdict, Verdict::Problem);
        assert!(findings[0].found.contains("node.toml"), "{findings:?}");
        assert!(
            findings[0].action.contains("tally network check"),
            "{findings:?}"
        );
        let named = findings.iter();
        let named = named.filter(|finding| finding.found.contains("node.toml"));
        assert_eq!(named.count(), 1, "{findings:?}");
    }
}
