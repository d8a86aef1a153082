//! `NETWORK.toml`: the nodes of a network.

use std::net::SocketAddr;
use std::path::Path;

use ledger::LegalName;
use serde::Deserialize;

use super::error::BootstrapError;
use crate::config::read_toml;

/// The description of a network.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkSpec {
    /// Largest message between nodes, in bytes; 10 MiB if left out.
    #[serde(default)]
    pub max_message_bytes: Option<u64>,
    /// Largest transaction, in bytes; 10 MiB if left out.
    #[serde(default)]
    pub max_transaction_bytes: Option<u64>,
    /// The nodes.
    #[serde(rename = "node")]
    pub nodes: Vec<NodeSpec>,
}

/// One node.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeSpec {
    /// The legal name, `O=..., L=..., C=..`.
    pub name: LegalName,
    /// Where other nodes find it, `address:port`; port 0 or nothing: a free one on 127.0.0.1.
    #[serde(default)]
    pub address: Option<SocketAddr>,
    /// Where clients find it, likewise.
    #[serde(default)]
    pub api: Option<SocketAddr>,
    /// Names beside localhost that its certificate bears, for clients elsewhere.
    #[serde(default)]
    pub host_names: Vec<String>,
    /// Whether it is a notary.
    #[serde(default)]
    pub notary: bool,
    /// Sections of its `node.toml` beside what bootstrap writes.
    #[serde(default)]
    pub config: toml::Table,
}

impl NetworkSpec {
    /// Reads and checks a description.
    pub fn read(path: &Path) -> Result<Self, BootstrapError> {
        let spec: NetworkSpec = read_toml(path)?;
        spec.check()?;
        Ok(spec)
    }

    fn check(&self) -> Result<(), BootstrapError> {
        let fail = |message: String| Err(BootstrapError::Description(message));
        if !self.nodes.iter().any(|node| node.notary) {
            return fail("no node has 'notary = true'".to_owned());
        }
        for (at, node) in self.nodes.iter().enumerate() {
            let folder = node.folder();
            if self.nodes[..at]
                .iter()
                .any(|other| other.folder() == folder)
            {
                return fail(format!(
                    "two nodes would have the folder '{folder}': {}",
                    node.name
                ));
            }
        }
        Ok(())
    }
}

impl NodeSpec {
    /// The name of its folder: the organisation in lower case, with dashes; the unit too where there is one.
    pub fn folder(&self) -> String {
        let unit = self
            .name
            .organisational_unit()
            .map(|unit| format!(" {unit}"));
        let text = format!("{}{}", self.name.organisation(), unit.unwrap_or_default());
        let dashed = text.to_lowercase();
        let dashed = dashed
            .chars()
            .map(|c| if c.is_alphanumeric() { c } else { '-' });
        dashed.collect()
    }
}
