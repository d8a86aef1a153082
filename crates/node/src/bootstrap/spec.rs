//! `NETWORK.toml`: the nodes of a network.

use std::net::SocketAddr;

use ledger::{LegalName, is_address};
use serde::Deserialize;

use super::error::BootstrapError;
use super::files::AUTHORITY;

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
    /// The replicated notary that it works for, `O=..., L=..., C=..`, if it is one of several workers.
    #[serde(default)]
    pub service: Option<LegalName>,
    /// Sections of its `node.toml` in addition to those that bootstrap writes.
    #[serde(default)]
    pub config: toml::Table,
}

impl NetworkSpec {
    /// Whether the description makes a network.
    pub(super) fn check(&self) -> Result<(), BootstrapError> {
        let fail = |message: String, hint| Err(BootstrapError::description(message, hint));
        if !self.nodes.iter().any(|node| node.notary) {
            let hint = "Add 'notary = true' to one [[node]].";
            return fail("no node has 'notary = true'".to_owned(), hint);
        }
        for (days, what) in [
            (self.certificate_days, "certificate_days"),
            (self.root_days, "root_days"),
        ] {
            if !(DAYS_MIN..=DAYS_MAX).contains(&days) {
                return fail(
                    format!("{what} is {days}; {DAYS_MIN} to {DAYS_MAX} are possible"),
                    "Set the field to a number of days in this range, or remove it to have the default.",
                );
            }
        }
        for (at, node) in self.nodes.iter().enumerate() {
            node.check(&self.nodes[..at])?;
        }
        Ok(())
    }
}

impl NodeSpec {
    /// Checks a node, also against those before it.
    fn check(&self, others: &[NodeSpec]) -> Result<(), BootstrapError> {
        let (name, folder) = (&self.name, self.folder());
        let fail = |message: String, hint| Err(BootstrapError::description(message, hint));
        let is_name = |name: &&String| !name.is_empty() && name.is_ascii();
        if let Some(host) = self.host_names.iter().find(|host| !is_name(host)) {
            return fail(
                format!("'{host}' of {name} is no name for a certificate"),
                "Write host_names in ASCII; an international name in its form that begins with xn--.",
            );
        }
        if folder == AUTHORITY {
            return fail(
                format!("the folder '{folder}' is the root's own: {name}"),
                "Choose another organisation, or add an organisational unit (OU=..): the folder is named after both.",
            );
        }
        if self.validating && !self.notary {
            return fail(
                format!("'validating' without 'notary = true': {name}"),
                "Add 'notary = true' to that [[node]], or remove 'validating'.",
            );
        }
        if let Some(service) = &self.service {
            if !self.notary || self.validating {
                return fail(
                    format!("'service' needs 'notary = true', and no 'validating': {name}"),
                    "Remove 'validating' and add 'notary = true' to that [[node]]: the workers of a replicated notary see tear-offs only.",
                );
            }
            if service == name || others.iter().any(|other| other.name == *service) {
                return fail(
                    format!("the service of {name} has the name of a node: {service}"),
                    "Give the service a name of its own. Transactions name the service, and its workers have other names.",
                );
            }
            if !self.config.contains_key("notary_database") {
                return fail(
                    format!(
                        "{name} works for a service and has no 'notary_database' in its config"
                    ),
                    "Add [node.config.notary_database] with the 'url' of the database that the workers share.",
                );
            }
        }
        let section = self.config.get("notary").and_then(toml::Value::as_table);
        if section.is_some_and(|section| section.contains_key("validating")) {
            return fail(
                format!("'validating' is in the config of {name}"),
                "Write 'validating' next to 'notary = true', not in the node's config.",
            );
        }
        if others.iter().any(|other| other.name == *name) {
            return fail(
                format!("two nodes have the name {name}"),
                "Give each [[node]] a name of its own.",
            );
        }
        if others.iter().any(|other| other.folder() == folder) {
            return fail(
                format!("two nodes would have the folder '{folder}': {name}"),
                "A folder is named after organisation and organisational unit. Give one of the two nodes a unit of its own (OU=..).",
            );
        }
        if let Some(bad) = self.advertised.iter().find(|address| !is_address(address)) {
            return fail(
                format!("advertised '{bad}' is not of the form host:port: {name}"),
                "Write each address as host:port, such as bank-a.example.org:10200.",
            );
        }
        for address in [self.address, self.api].into_iter().flatten() {
            let taken = |other: &NodeSpec| [other.address, other.api].contains(&Some(address));
            let twice = self.address == self.api || others.iter().any(taken);
            if address.port() != 0 && twice {
                return fail(
                    format!("{address} is given twice: {name}"),
                    "Give each 'address' and each 'api' a port of its own.",
                );
            }
        }
        Ok(())
    }

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
