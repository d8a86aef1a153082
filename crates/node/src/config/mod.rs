//! `node.toml`: everything an operator can set, with defaults and units. `docs/reference/config.md` lists the fields.

mod attachments;
mod check;
mod compression;
mod error;
mod hospital;
mod reference;
mod sections;
mod transitions;

use std::path::Path;

use serde::{Deserialize, Serialize};

pub use attachments::AttachmentsSection;
pub use compression::CompressionSetting;
pub use error::{ConfigError, ERRORS};
pub(crate) use error::{parse_toml, read_toml};
pub use hospital::HospitalSection;
pub use reference::{FIELDS, Field, default_text, reference_page};
pub use sections::{
    ApiSection, CacheSection, LimitsSection, LogFormat, LogSection, NodeSection, NotarySection,
    P2pSection, StoreSection, TokenEntry, UsersSection,
};
pub(crate) use sections::{anonymous_connections_per_address, exit_after_failure_s};
pub use transitions::{TransitionsSection, UpgradeEntry};

/// A node's configuration. Unknown fields are refused; [`FIELDS`] describes those that exist.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeConfig {
    /// Who the node is.
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
    /// Failures of flows.
    #[serde(default)]
    pub hospital: HospitalSection,
    /// Budgets of the caches.
    #[serde(default)]
    pub cache: CacheSection,
    /// The disk.
    #[serde(default)]
    pub store: StoreSection,
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
