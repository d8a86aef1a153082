//! `tally network bootstrap`

use std::path::PathBuf;

use node::bootstrap::{BootstrappedNode, NetworkSpec, bootstrap};
use serde::Serialize;

use crate::cli::program;
use crate::failure::Failure;
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
}

#[derive(Debug, Serialize)]
struct MadeNode {
    name: String,
    party_id: String,
    folder: String,
    address: String,
    api: String,
    existed: bool,
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
        let made = bootstrap(&spec, &self.out).map_err(failed)?;
        let made = Made {
            nodes: made.nodes.into_iter().map(MadeNode::from).collect(),
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
            if node.existed { "kept" } else { "new" }.to_owned(),
        ]);
    }
    let mut text = table.render(stdout_ink());
    text.push_str("\n\nRun each with\n");
    for node in &made.nodes {
        text.push_str(&format!("  {} node run {}\n", program(), node.folder));
    }
    text
}
