//! The network of a scenario. The serde attributes give the form that it has in a file.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The network to bring up or use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Network {
    /// Nodes in addition to the notary, at least 1: `bank-1` and so on.
    pub banks: u32,
    /// The kind of notary.
    #[serde(flatten)]
    pub notary: NotaryKind,
    /// Members of the network without a node, whose requests the laboratory sends to the notary itself.
    #[serde(skip_serializing_if = "is_zero")]
    pub requesters: u32,
    /// Where the nodes keep their data.
    pub database: DatabaseKind,
    /// Round trip between a node and the database server, in milliseconds. If `None`, they connect directly.
    pub database_latency_ms: Option<f64>,
    /// Settings of every node's configuration, by dotted name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, toml::Value>,
    /// Further settings by node: `notary`, `bank-1`, ...
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub nodes: BTreeMap<String, NodeSettings>,
    /// Delay and bandwidth between any two nodes. If `None`, they connect directly.
    pub link: Option<Link>,
    /// An existing network or another system to use instead. The laboratory starts, wipes and restarts no node then.
    pub target: Option<Target>,
}

/// The kind of notary in a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "notary", rename_all = "lowercase")]
pub enum NotaryKind {
    /// A notary that sees tear-offs only.
    Single,
    /// A notary that verifies whole transactions.
    Validating,
    /// A notary of several workers that share a record in a database, which the laboratory starts.
    Replicated {
        /// The database.
        #[serde(rename = "notary_backend")]
        backend: NotaryBackend,
        /// The number of workers, at least 1.
        #[serde(rename = "notary_workers")]
        workers: u32,
    },
}

/// The database of a replicated notary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NotaryBackend {
    /// A MariaDB Galera cluster of three servers.
    Galera,
    /// One PostgreSQL server.
    Postgres,
}

/// Where nodes keep their data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DatabaseKind {
    /// In their own folders.
    Embedded,
    /// On one PostgreSQL server, which the laboratory starts.
    Postgres,
}

/// The configuration of a single node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeSettings {
    /// Settings that replace or extend those of all nodes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, toml::Value>,
    /// Number of processor cores that it may use, counted from the machine's first; all if `None`.
    pub cores: Option<u32>,
    /// Its own link to every other node, instead of the common link.
    pub link: Option<Link>,
}

/// A link between nodes, the same both ways.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// Milliseconds from one end to the other; a round trip takes twice as long.
    pub delay_ms: f64,
    /// Bandwidth each way in megabits (10^6) a second; unlimited if `None`.
    pub mbit_per_s: Option<f64>,
}

impl Network {
    /// Returns the names of its nodes.
    pub fn node_names(&self) -> Vec<String> {
        let workers = match self.notary {
            NotaryKind::Replicated { workers, .. } => workers,
            NotaryKind::Single | NotaryKind::Validating => 1,
        };
        let mut names = vec!["notary".to_owned()];
        names.extend((2..=workers).map(|worker| format!("notary-{worker}")));
        names.extend((1..=self.banks).map(|bank| format!("bank-{bank}")));
        names
    }

    /// Returns whether any of its nodes connect through a link.
    pub fn is_linked(&self) -> bool {
        self.link.is_some() || self.nodes.values().any(|own| own.link.is_some())
    }
}

/// A running network or another system, measured instead of a network that is brought up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "TargetTable", into = "TargetTable")]
pub enum Target {
    /// An existing network.
    Nodes {
        /// Folders of its banks, each with the address, root certificate and token of its API, as bootstrap makes them.
        banks: Vec<PathBuf>,
        /// The notary's folder. Without it the audit skips the notary's books.
        notary: Option<PathBuf>,
    },
    /// Another system.
    Connector(ConnectorProgram),
}

impl Target {
    /// Returns the connector of another system.
    pub fn connector(&self) -> Option<&ConnectorProgram> {
        match self {
            Target::Nodes { .. } => None,
            Target::Connector(program) => Some(program),
        }
    }
}

/// The program that connects another system to the laboratory.
#[derive(Clone, Debug, PartialEq)]
pub enum ConnectorProgram {
    /// The shipped one for plain PostgreSQL.
    Postgres,
    /// A program and its arguments.
    Command(Vec<String>),
}

/// `[network.target]`.
#[derive(Serialize, Deserialize)]
struct TargetTable {
    connector: Option<String>,
    command: Option<Vec<String>>,
    banks: Option<Vec<PathBuf>>,
    notary: Option<PathBuf>,
}

impl From<TargetTable> for Target {
    fn from(table: TargetTable) -> Self {
        match (table.connector, table.command) {
            (Some(_), _) => Self::Connector(ConnectorProgram::Postgres),
            (None, Some(words)) => Self::Connector(ConnectorProgram::Command(words)),
            (None, None) => Self::Nodes {
                banks: table.banks.unwrap_or_default(),
                notary: table.notary,
            },
        }
    }
}

impl From<Target> for TargetTable {
    fn from(target: Target) -> Self {
        let mut table = Self {
            connector: None,
            command: None,
            banks: None,
            notary: None,
        };
        match target {
            Target::Nodes { banks, notary } => (table.banks, table.notary) = (Some(banks), notary),
            Target::Connector(ConnectorProgram::Postgres) => {
                table.connector = Some("postgres".to_owned());
            }
            Target::Connector(ConnectorProgram::Command(words)) => table.command = Some(words),
        }
        table
    }
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}
