//! `tally network bootstrap`

use std::path::PathBuf;

use node::bootstrap::{BootstrappedNode, NetworkSpec, RENEWED_DAYS, bootstrap};
use serde::Serialize;

use crate::cli::program;
use crate::failure::Failure;
use crate::folder;
use crate::output::{Output, Table, stdout_ink};

/// Arguments of `tally network bootstrap`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The description of the network
    #[arg(value_name = "NETWORK.toml")]
    description: PathBuf,
    /// The folder for the new folders
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    #[command(flatten)]
    pub output: Output,
}

/// The result, for programs.
#[derive(Debug, Serialize)]
struct Made {
    nodes: Vec<MadeNode>,
    /// The network has other nodes or parameters than before, so its running nodes have to be restarted.
    restart_needed: bool,
}

#[derive(Debug, Serialize)]
struct MadeNode {
    name: String,
    party_id: String,
    folder: String,
    address: String,
    api: String,
    existed: bool,
    configured_again: bool,
    renewed: bool,
    notary: Option<MadeNotary>,
}

#[derive(Debug, Serialize)]
struct MadeNotary {
    validating: bool,
}

impl From<BootstrappedNode> for MadeNode {
    fn from(node: BootstrappedNode) -> Self {
        Self {
            name: node.party.name.to_string(),
            party_id: node.party.id().to_string(),
            folder: node.dir.display().to_string(),
            address: node.address.to_string(),
            api: node.api.to_string(),
            existed: node.existed,
            configured_again: node.configured_again,
            renewed: node.renewed,
            notary: node.notary.map(|notary| MadeNotary {
                validating: notary.validating,
            }),
        }
    }
}

impl Args {
    pub fn run(self) -> Result<(), Failure> {
        let failed = |error: node::bootstrap::BootstrapError| Failure::coded(&error);
        let spec = NetworkSpec::read(&self.description).map_err(failed)?;
        folder::takes_network(&self.out)?;
        let made = bootstrap(&spec, &self.out).map_err(failed)?;
        let made = Made {
            nodes: made.nodes.into_iter().map(MadeNode::from).collect(),
            restart_needed: made.is_map_changed,
        };
        self.output.show(&made, people)
    }
}

fn people(made: &Made) -> String {
    let mut table = Table::new(&["node", "role", "for nodes", "for clients", "folder", "is"]);
    for node in &made.nodes {
        table.row([
            node.name.clone(),
            match &node.notary {
                Some(notary) if notary.validating => "notary, validating",
                Some(_) => "notary",
                None => "node",
            }
            .to_owned(),
            node.address.clone(),
            format!("https://{}", node.api),
            node.folder.clone(),
            if node.configured_again {
                "configured again"
            } else if node.renewed {
                "renewed"
            } else if node.existed {
                "kept"
            } else {
                "new"
            }
            .to_owned(),
        ]);
    }
    let mut text = table.render(stdout_ink());
    text.push_str("\n\nRun each with\n");
    for node in &made.nodes {
        text.push_str(&format!("  {} node run {}\n", program(), node.folder));
    }
    if made.nodes.iter().any(|node| node.configured_again) {
        text.push_str(CONFIGURED_AGAIN);
    }
    text.push_str(&renewals(made));
    if made.restart_needed {
        text.push_str(RESTART);
    }
    text
}

/// The action after a lost configuration.
const CONFIGURED_AGAIN: &str = "
A missing node.toml was made again from the description, and a missing api-token with it. Compare ports and settings with those of a
backup.
";

/// The action after a change of the network map.
const RESTART: &str = "
Nodes that run know of the change only after a restart: until then they refuse the new nodes. Restart each node that was there
before. If it runs in a folder elsewhere, first copy network/ of its folder here to that folder.
";

/// Names the certificates that were replaced, and the action.
fn renewals(made: &Made) -> String {
    let renewed = made.nodes.iter().filter(|node| node.renewed);
    let files: String = renewed
        .map(|node| format!("  {0}/tls.pem and {0}/tls.key.pem\n", node.folder))
        .collect();
    match files.as_str() {
        "" => String::new(),
        files => format!(
            "\nNew certificates and keys, because the old ones end within {RENEWED_DAYS} days or lack a key:\n{files}Copy both files into the folder that the node runs in, if it is another one, and restart the node.\n"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renewed_certificates_and_restarts_are_told() {
        let node = |folder: &str, existed, renewed| MadeNode {
            name: "O=A, L=X, C=GB".to_owned(),
            party_id: String::new(),
            folder: folder.to_owned(),
            address: String::new(),
            api: String::new(),
            existed,
            configured_again: false,
            renewed,
            notary: None,
        };
        let configured_again = MadeNode {
            configured_again: true,
            ..node("n/a", true, false)
        };
        for (nodes, restart_needed, shown, absent) in [
            (vec![node("n/a", false, false)], false, " new", "restart"),
            (vec![node("n/a", true, false)], false, " kept", "node.toml"),
            (
                vec![configured_again],
                false,
                "node.toml was made again",
                "kept",
            ),
            (
                vec![node("n/a", true, true), node("n/b", true, false)],
                false,
                "  n/a/tls.pem and n/a/tls.key.pem",
                "n/b/tls.pem",
            ),
            (
                vec![node("n/a", true, false), node("n/b", false, false)],
                true,
                "Restart each node that was there",
                "tls.pem",
            ),
        ] {
            let text = people(&Made {
                nodes,
                restart_needed,
            });
            assert!(text.contains(shown) && !text.contains(absent), "{text}");
        }
    }
}
