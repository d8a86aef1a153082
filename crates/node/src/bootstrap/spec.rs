//! `NETWORK.toml`: the nodes of a network.

use std::net::SocketAddr;
use std::path::Path;

use ledger::{LegalName, is_address};
use serde::Deserialize;

use super::error::BootstrapError;
use super::files::AUTHORITY;
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
    /// Largest file that a transaction lists, in bytes; 500 MiB if left out.
    #[serde(default)]
    pub max_attachment_bytes: Option<u64>,
    /// Most bytes of all files that one transaction lists; 500 MiB if left out.
    #[serde(default)]
    pub max_transaction_attachment_bytes: Option<u64>,
    /// Validity of the nodes' TLS certificates, in days; 365 if left out.
    #[serde(default = "certificate_days")]
    pub certificate_days: u32,
    /// Validity of the root's certificate, in days; 3650 if left out.
    #[serde(default = "root_days")]
    pub root_days: u32,
    /// The nodes.
    #[serde(rename = "node")]
    pub nodes: Vec<NodeSpec>,
}

/// The validity of a TLS certificate by default: a year, so that a stolen key is of use for a limited time.
fn certificate_days() -> u32 {
    365
}

/// The validity of the root by default: ten years, because a new root has to be given to every node and client.
pub(crate) fn root_days() -> u32 {
    3_650
}

/// Minimum validity of a certificate, in days. One that is renewed within [`super::RENEWED_DAYS`] has to last longer.
const DAYS_MIN: u32 = 60;
/// Maximum validity of a certificate, in days: a hundred years.
const DAYS_MAX: u32 = 36_500;

/// One node.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeSpec {
    /// The legal name, `O=..., L=..., C=..`.
    pub name: LegalName,
    /// The address on which it listens for other nodes, `address:port`; port 0: a free one; nothing: a free one on 127.0.0.1.
    #[serde(default)]
    pub address: Option<SocketAddr>,
    /// The addresses at which other nodes find it, if they differ from the one on which it listens, `host:port`, best first. Needed when it
    /// listens on all addresses.
    #[serde(default)]
    pub advertised: Vec<String>,
    /// The address on which it listens for clients, likewise.
    #[serde(default)]
    pub api: Option<SocketAddr>,
    /// Names in its certificate in addition to localhost, for clients on other machines.
    #[serde(default)]
    pub host_names: Vec<String>,
    /// Whether it is a notary.
    #[serde(default)]
    pub notary: bool,
    /// Whether it is one that validates: that is shown whole transactions.
    #[serde(default)]
    pub validating: bool,
    /// Sections of its `node.toml` in addition to those that bootstrap writes.
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

    /// Whether the description makes a network.
    pub(super) fn check(&self) -> Result<(), BootstrapError> {
        let fail = |message: String| Err(BootstrapError::Description(message));
        if !self.nodes.iter().any(|node| node.notary) {
            return fail("no node has 'notary = true'".to_owned());
        }
        for (days, what) in [
            (self.certificate_days, "certificate_days"),
            (self.root_days, "root_days"),
        ] {
            if !(DAYS_MIN..=DAYS_MAX).contains(&days) {
                return fail(format!(
                    "{what} is {days}; {DAYS_MIN} to {DAYS_MAX} are possible"
                ));
            }
        }
        for node in &self.nodes {
            let is_name = |name: &&String| !name.is_empty() && name.is_ascii();
            if let Some(name) = node.host_names.iter().find(|name| !is_name(name)) {
                return fail(format!(
                    "'{name}' of {} is no name for a certificate: use ASCII, such as xn--...",
                    node.name
                ));
            }
        }
        for (at, node) in self.nodes.iter().enumerate() {
            let (name, folder) = (&node.name, node.folder());
            if folder == AUTHORITY {
                return fail(format!("the folder '{folder}' is the root's own: {name}"));
            }
            if node.validating && !node.notary {
                return fail(format!("'validating' without 'notary = true': {name}"));
            }
            let section = node.config.get("notary").and_then(toml::Value::as_table);
            if section.is_some_and(|section| section.contains_key("validating")) {
                let rule = "write 'validating' next to 'notary = true', not in its config";
                return fail(format!("{rule}: {name}"));
            }
            let others = &self.nodes[..at];
            if others.iter().any(|other| other.folder() == folder) {
                return fail(format!(
                    "two nodes would have the folder '{folder}': {name}"
                ));
            }
            if let Some(bad) = node.advertised.iter().find(|address| !is_address(address)) {
                return fail(format!(
                    "advertised '{bad}' is not of the form host:port: {name}"
                ));
            }
            for address in [node.address, node.api].into_iter().flatten() {
                let taken = |other: &NodeSpec| [other.address, other.api].contains(&Some(address));
                let twice = node.address == node.api || others.iter().any(taken);
                if address.port() != 0 && twice {
                    return fail(format!("{address} is given twice: {name}"));
                }
            }
        }
        Ok(())
    }
}

impl NodeSpec {
    /// Whether it is a notary, and if so one that validates.
    pub(super) fn notary_kind(&self) -> Option<bool> {
        self.notary.then_some(self.validating)
    }

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
