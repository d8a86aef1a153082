//! `tally doctor` checks a node's folder and machine, and recommends actions.

mod disk;
mod finding;
mod folder;
mod machine;
mod peers;
mod ports;

use std::path::PathBuf;

use node::bootstrap::{BootstrapError, load_node_dir};
use node::config::NodeConfig;
use primitives::Coded;

pub use self::finding::Verdict;
use self::finding::{Finding, people};
pub use self::folder::certificates;
use crate::failure::Failure;
use crate::output::Output;

/// The node's configuration file in its folder.
const CONFIG: &str = "node.toml";

/// Arguments of `tally doctor`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The node's folder, as bootstrap made it
    #[arg(long, value_name = "DIR", env = "TALLY_NODE")]
    node: PathBuf,
    #[command(flatten)]
    pub output: Output,
}

impl Args {
    pub fn run(self) -> Result<(), Failure> {
        let findings = self.examine();
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

    fn examine(&self) -> Vec<Finding> {
        let folder = &self.node;
        let mut findings = Vec::new();
        let config = NodeConfig::read(&folder.join(CONFIG));
        findings.push(match &config {
            Ok(_) => Finding::ok("configuration", "read and checked"),
            Err(error) => Finding::problem("configuration", error.to_string(), error.hint()),
        });
        findings.extend(folder::permissions(folder));
        let files = load_node_dir(folder);
        match &files {
            Ok(files) => {
                findings.push(Finding::ok("identity", files.info.party.name.to_string()));
                findings.extend(folder::certificates(files));
                findings.push(machine::clock(files));
            }
            // The finding on the configuration has said so.
            Err(BootstrapError::Config(_)) if config.is_err() => {}
            Err(error) => {
                findings.push(Finding::problem(
                    "identity",
                    error.to_string(),
                    error.hint(),
                ));
            }
        }
        let Ok(config) = config else {
            return findings;
        };
        let data = folder.join(&config.node.data_dir);
        let data = if data.is_dir() { data } else { folder.clone() };
        findings.push(disk::speed(&data));
        findings.push(disk::space(&data));
        let peers = files
            .as_ref()
            .map_or(0, |files| files.network.nodes().count());
        findings.push(machine::open_files(&config, peers));
        findings.push(folder::users(folder));
        findings.extend(ports::check(folder, &config, files.ok().as_ref()));
        findings
    }
}
