//! `node.toml`: everything an operator can set, with defaults and units. `docs/reference/config.md` lists the fields.

mod attachments;
mod check;
mod compression;
mod error;
mod flows;
mod hospital;
mod node_config;
mod reference;
mod sections;
mod transitions;

pub use attachments::AttachmentsSection;
pub(crate) use check::WORKERS_MAX;
pub use compression::CompressionSetting;
pub use error::{ConfigError, ConfigKind, ERRORS, read_table, text_of};
pub(crate) use error::{parse_toml, read_toml};
pub use flows::FlowsSection;
pub use hospital::HospitalSection;
pub use node_config::NodeConfig;
pub use reference::{FIELDS, Field, default_text, reference_page};
pub use sections::{
    ApiSection, CacheSection, DatabaseSection, LimitsSection, LogFormat, LogSection, NodeSection,
    NotaryDatabaseSection, NotarySection, P2pSection, StoreSection, TokenEntry, UsersSection,
};
pub(crate) use sections::{
    anonymous_connections_per_address, exit_after_failure_s, worker_threads,
};
pub use transitions::{TransitionsSection, UpgradeEntry};
