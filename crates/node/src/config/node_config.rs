//! A node's configuration as a whole.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::attachments::AttachmentsSection;
use super::error::{ConfigError, parse_toml, read_toml};
use super::flows::FlowsSection;
use super::hospital::HospitalSection;
use super::sections::{
    ApiSection, CacheSection, DatabaseSection, LimitsSection, LogSection, NodeSection,
    NotaryDatabaseSection, NotarySection, P2pSection, StoreSection, UsersSection,
};
use super::transitions::TransitionsSection;

/// A node's configuration. Unknown fields are refused; [`FIELDS`](super::FIELDS) describes the known ones.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeConfig {
    /// The name and the folder of the node.
    pub node: NodeSection,
    /// Connections with other nodes.
    pub p2p: P2pSection,
    /// The HTTP API.
    pub api: ApiSection,
    /// Logins of users.
    #[serde(default)]
    pub users: UsersSection,
    /// Present if the node is a notary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notary: Option<NotarySection>,
    /// The proposals of others that it signs.
    #[serde(default)]
    pub transitions: TransitionsSection,
    /// Bounds of work and memory.
    #[serde(default)]
    pub limits: LimitsSection,
    /// Files that transactions refer to.
    #[serde(default)]
    pub attachments: AttachmentsSection,
    /// Flows that have ended.
    #[serde(default)]
    pub flows: FlowsSection,
    /// Failures of flows.
    #[serde(default)]
    pub hospital: HospitalSection,
    /// Budgets of the caches.
    #[serde(default)]
    pub cache: CacheSection,
    /// The disk.
    #[serde(default)]
    pub store: StoreSection,
    /// The database that the workers of a replicated notary share.
    #[serde(default)]
    pub notary_database: NotaryDatabaseSection,
    /// The database server.
    #[serde(default)]
    pub database: DatabaseSection,
    /// The log.
    #[serde(default)]
    pub log: LogSection,
}

impl NodeConfig {
    /// Reads and checks a file.
    ///
    /// # Errors
    /// The file can't be read, is not TOML, has a field that is missing, unknown or of the wrong type, or a value out of
    /// range.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let config: Self = read_toml(path)?;
        config.check(path)?;
        Ok(config)
    }

    /// Reads and checks the text of a file.
    ///
    /// # Errors
    /// See [`NodeConfig::read`]; `path` is for the message.
    pub fn parse(text: &str, path: &Path) -> Result<Self, ConfigError> {
        let config: Self = parse_toml(text, path)?;
        config.check(path)?;
        Ok(config)
    }
}
