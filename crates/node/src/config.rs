//! `node.toml`: everything an operator can set, with defaults and units.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use ledger::LegalName;
use primitives::{Coded, ErrorInfo};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A node's configuration. `docs/reference/config.md` is made from [`FIELDS`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeConfig {
    /// Who the node is.
    pub node: NodeSection,
    /// Connections with other nodes.
    pub p2p: P2pSection,
    /// The HTTP API.
    pub api: ApiSection,
    /// Present if the node is a notary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notary: Option<NotarySection>,
    /// Bounds of work and memory.
    #[serde(default)]
    pub limits: LimitsSection,
    /// The disk.
    #[serde(default)]
    pub store: StoreSection,
    /// The log.
    #[serde(default)]
    pub log: LogSection,
}

/// `[node]`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeSection {
    /// The legal name.
    pub name: LegalName,
    /// Where data is kept; relative to the node's folder.
    #[serde(default = "data_dir")]
    pub data_dir: PathBuf,
}

/// `[p2p]`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct P2pSection {
    /// Where to listen for other nodes.
    pub listen: SocketAddr,
    /// Whether to compress.
    #[serde(default = "yes")]
    pub compression: bool,
    /// How long to gather messages before each write.
    #[serde(default)]
    pub linger_us: u64,
    /// Bytes that wait for one peer.
    #[serde(default = "queue_bytes")]
    pub queue_bytes: usize,
}

/// `[api]`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApiSection {
    /// Where to listen for clients.
    pub listen: SocketAddr,
    /// Who may call.
    #[serde(default)]
    pub tokens: Vec<TokenEntry>,
    /// Connections at once.
    #[serde(default = "connections")]
    pub connections_max: usize,
    /// Largest body of one request.
    #[serde(default = "body_bytes")]
    pub body_bytes_max: usize,
    /// Starts outstanding on one stream.
    #[serde(default = "stream_outstanding")]
    pub stream_outstanding_max: usize,
}

/// An entry of `api.tokens`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenEntry {
    /// Whose it is.
    pub user: String,
    /// SHA-256 of the token, in hexadecimal.
    pub sha256: String,
}

/// `[notary]`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NotarySection {
    /// Most requests in one batch.
    pub batch_requests_max: usize,
    /// Most states in one batch.
    pub batch_states_max: usize,
    /// Requests that wait.
    pub queue_requests_max: usize,
    /// States of all requests that wait.
    pub queue_states_max: usize,
}

/// `[limits]`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsSection {
    /// Flows started by clients that run at once.
    pub live_flows: usize,
    /// Starts that wait for a place.
    pub start_queue: usize,
    /// Flows started by peers that run at once.
    pub responders: usize,
    /// Cache of transactions.
    pub transaction_cache_bytes: usize,
    /// Caches of good signatures and valid transactions, each.
    pub signature_cache_bytes: usize,
    /// Outcomes of ended flows kept in memory.
    pub outcome_cache_bytes: usize,
    /// Coins kept in memory for selection.
    pub coin_bytes: usize,
    /// Coins of one token kept in memory.
    pub coins_per_token: usize,
    /// Peers' messages that wait to be handled.
    pub inbound_bytes: usize,
}

/// `[store]`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StoreSection {
    /// How long to gather writes before each sync.
    pub linger_us: u64,
    /// Cache of the ledger's store.
    pub cache_bytes: u64,
    /// Cache of the vault's view.
    pub view_cache_bytes: u64,
}

/// `[log]`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LogSection {
    /// The least level logged.
    pub level: String,
    /// For people or for programs.
    pub format: LogFormat,
}

/// How lines of the log look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

fn data_dir() -> PathBuf {
    PathBuf::from("data")
}

fn yes() -> bool {
    true
}

fn queue_bytes() -> usize {
    32 << 20
}

fn connections() -> usize {
    1_024
}

fn body_bytes() -> usize {
    1 << 20
}

fn stream_outstanding() -> usize {
    4_096
}

impl Default for NotarySection {
    fn default() -> Self {
        let options = notary::NotaryOptions::default();
        Self {
            batch_requests_max: options.batch_requests_max,
            batch_states_max: options.batch_states_max,
            queue_requests_max: options.queue_requests_max,
            queue_states_max: options.queue_states_max,
        }
    }
}

impl Default for LimitsSection {
    fn default() -> Self {
        let options = kernel::KernelOptions::default();
        Self {
            live_flows: options.live_flows_max,
            start_queue: options.start_queue_max,
            responders: options.flow.responders_max,
            transaction_cache_bytes: options.transactions_bytes,
            signature_cache_bytes: options.known_signatures_bytes,
            outcome_cache_bytes: options.outcomes_bytes,
            coin_bytes: options.selection.coins_bytes_max,
            coins_per_token: options.selection.coins_per_pool_max,
            inbound_bytes: 16 << 20,
        }
    }
}

impl Default for StoreSection {
    fn default() -> Self {
        Self {
            linger_us: 0,
            cache_bytes: 8 << 20,
            view_cache_bytes: 4 << 20,
        }
    }
}

impl Default for LogSection {
    fn default() -> Self {
        Self {
            level: "info".to_owned(),
            format: LogFormat::Text,
        }
    }
}

/// A field of the configuration, for the reference page.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// `section.name`.
    pub name: &'static str,
    /// The default, as it would be written; empty if it must be given.
    pub default: &'static str,
    /// The unit, if any.
    pub unit: &'static str,
    /// What it is for.
    pub meaning: &'static str,
}

const fn field(
    name: &'static str,
    default: &'static str,
    unit: &'static str,
    meaning: &'static str,
) -> Field {
    Field {
        name,
        default,
        unit,
        meaning,
    }
}

/// Every field.
pub const FIELDS: &[Field] = &[
    field(
        "node.name",
        "",
        "",
        "The legal name, `O=..., L=..., C=..`; the certificate and the network map bear the same.",
    ),
    field(
        "node.data_dir",
        "\"data\"",
        "",
        "Where data is kept; relative to the node's folder.",
    ),
    field(
        "p2p.listen",
        "",
        "",
        "Where to listen for other nodes, `address:port`.",
    ),
    field(
        "p2p.compression",
        "true",
        "",
        "Whether messages to nodes that want it are compressed.",
    ),
    field(
        "p2p.linger_us",
        "0",
        "microseconds",
        "How long to gather messages before each write; 0 never waits.",
    ),
    field(
        "p2p.queue_bytes",
        "33554432",
        "bytes",
        "Messages that wait for one peer.",
    ),
    field(
        "api.listen",
        "",
        "",
        "Where to listen for clients, `address:port`.",
    ),
    field(
        "api.tokens",
        "[]",
        "",
        "Who may call: `{ user = \"...\", sha256 = \"...\" }`, the SHA-256 of the token in hexadecimal.",
    ),
    field(
        "api.connections_max",
        "1024",
        "",
        "Clients' connections at once.",
    ),
    field(
        "api.body_bytes_max",
        "1048576",
        "bytes",
        "Largest body of one request, and longest line of a stream.",
    ),
    field(
        "api.stream_outstanding_max",
        "4096",
        "",
        "Starts outstanding on one stream.",
    ),
    field(
        "notary.batch_requests_max",
        "2000",
        "",
        "Most requests in one batch. The section makes the node a notary.",
    ),
    field(
        "notary.batch_states_max",
        "20000",
        "",
        "Most states in one batch.",
    ),
    field(
        "notary.queue_requests_max",
        "20000",
        "",
        "Requests that wait; further ones are told when to come again.",
    ),
    field(
        "notary.queue_states_max",
        "50000",
        "",
        "States of all requests that wait.",
    ),
    field(
        "limits.live_flows",
        "1000",
        "",
        "Flows started by clients that run at once.",
    ),
    field(
        "limits.start_queue",
        "1000",
        "",
        "Starts that wait for a place; further ones are told \"busy\".",
    ),
    field(
        "limits.responders",
        "20000",
        "",
        "Flows started by peers that run at once.",
    ),
    field(
        "limits.transaction_cache_bytes",
        "16777216",
        "bytes",
        "Cache of transactions.",
    ),
    field(
        "limits.signature_cache_bytes",
        "2097152",
        "bytes",
        "Caches of good signatures and of valid transactions, each.",
    ),
    field(
        "limits.outcome_cache_bytes",
        "4194304",
        "bytes",
        "Outcomes of ended flows kept in memory.",
    ),
    field(
        "limits.coin_bytes",
        "33554432",
        "bytes",
        "Coins kept in memory for selection.",
    ),
    field(
        "limits.coins_per_token",
        "20000",
        "",
        "Coins of one token kept in memory.",
    ),
    field(
        "limits.inbound_bytes",
        "16777216",
        "bytes",
        "Peers' messages that wait to be handled; beyond, connections are not read.",
    ),
    field(
        "store.linger_us",
        "0",
        "microseconds",
        "How long to gather writes before each sync; 0 never waits.",
    ),
    field(
        "store.cache_bytes",
        "8388608",
        "bytes",
        "Cache of the ledger's store.",
    ),
    field(
        "store.view_cache_bytes",
        "4194304",
        "bytes",
        "Cache of the vault's view.",
    ),
    field(
        "log.level",
        "\"info\"",
        "",
        "The least level logged: error, warn, info, debug or trace; or a filter per module.",
    ),
    field(
        "log.format",
        "\"text\"",
        "",
        "`text` for people, `json` for programs.",
    ),
];

/// The reference page.
pub fn reference_page() -> String {
    let mut page = String::from(
        "# Configuration of a node\n\nGenerated from the source: do not edit. Each field of `node.toml`, `section.name`.\n\n\
         | field | default | unit | meaning |\n|---|---|---|---|\n",
    );
    for Field {
        name,
        default,
        unit,
        meaning,
    } in FIELDS
    {
        let default = if default.is_empty() {
            "required".to_owned()
        } else {
            format!("`{default}`")
        };
        page.push_str(&format!("| `{name}` | {default} | {unit} | {meaning} |\n"));
    }
    page
}

/// A configuration that can't be used.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// The file can't be read.
    #[error("{path}: {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// It is no TOML, or a field has the wrong type, is missing or is unknown.
    #[error("{path}: {message}")]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What is wrong, with the line, and a suggestion where there is one.
        message: String,
    },
}

/// The codes of this module.
pub const ERRORS: &[ErrorInfo] = &[
    ErrorInfo {
        code: "config.unreadable",
        cause: "A configuration file can't be read.",
        action: "Check the path and the file's permissions.",
    },
    ErrorInfo {
        code: "config.invalid",
        cause: "A configuration file is not TOML, or a field is missing, unknown or of the wrong type.",
        action: "Correct the line that the message names; docs/reference/config.md lists every field.",
    },
];

impl Coded for ConfigError {
    fn code(&self) -> &'static str {
        match self {
            ConfigError::Unreadable { .. } => "config.unreadable",
            ConfigError::Invalid { .. } => "config.invalid",
        }
    }

    fn hint(&self) -> &'static str {
        ErrorInfo::action_of(ERRORS, self.code())
    }
}

impl NodeConfig {
    /// Reads and checks a file.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        read_toml(path)
    }
}

/// Reads a TOML file; an unknown field is refused with the nearest one that exists.
pub(crate) fn read_toml<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, ConfigError> {
    let text = std::fs::read_to_string(path).map_err(|source| ConfigError::Unreadable {
        path: path.to_owned(),
        source,
    })?;
    toml::from_str(&text).map_err(|error| ConfigError::Invalid {
        path: path.to_owned(),
        message: with_suggestion(&error.to_string()),
    })
}

/// Serde says "unknown field `x`, expected one of `a`, `b`": adds which of them was meant, if one is near.
fn with_suggestion(message: &str) -> String {
    let mut quoted = message
        .split("unknown field `")
        .nth(1)
        .unwrap_or_default()
        .split('`');
    let unknown = quoted.next().unwrap_or_default();
    let known = quoted.skip(1).step_by(2);
    let nearest = known
        .map(|name| (strsim::damerau_levenshtein(unknown, name), name))
        .filter(|(distance, name)| *distance <= name.len().div_ceil(2))
        .min();
    match nearest {
        Some((_, name)) if !unknown.is_empty() => {
            format!("{}; did you mean `{name}`?", message.trim_end())
        }
        _ => message.trim_end().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALLEST: &str = r#"
        [node]
        name = "O=Bank A, L=London, C=GB"
        [p2p]
        listen = "127.0.0.1:1"
        [api]
        listen = "127.0.0.1:2"
    "#;

    fn parse(text: &str) -> Result<NodeConfig, String> {
        toml::from_str(text).map_err(|error| with_suggestion(&error.to_string()))
    }

    #[test]
    fn every_default_is_what_the_page_says() {
        let config = parse(&format!("{SMALLEST}\n[notary]")).expect("the smallest configuration");
        let value = toml::Value::try_from(&config).expect("serialises");
        for Field { name, default, .. } in FIELDS {
            let (section, key) = name.split_once('.').expect("section.name");
            let found = value.get(section).and_then(|s| s.get(key));
            let found = found.unwrap_or_else(|| panic!("{name} does not exist"));
            if !default.is_empty() {
                assert_eq!(found.to_string(), *default, "{name}");
            }
        }
        let count: usize = value
            .as_table()
            .expect("a table")
            .values()
            .map(|s| s.as_table().map_or(0, |t| t.len()))
            .sum();
        assert_eq!(count, FIELDS.len(), "a field is missing on the page");
    }

    #[test]
    fn unknown_fields_are_refused_with_a_suggestion() {
        for (line, suggestion) in [
            ("[limits]\nlive_flow = 3", "did you mean `live_flows`?"),
            ("[store]\nlinger = 3", "did you mean `linger_us`?"),
            ("[logs]\nlevel = \"info\"", "did you mean `log`?"),
        ] {
            let message = parse(&format!("{SMALLEST}\n{line}")).expect_err(line);
            assert!(message.ends_with(suggestion), "{message}");
        }
        let message =
            parse(&format!("{SMALLEST}\n[limits]\nlive_flows = \"many\"")).expect_err("a text");
        assert!(
            message.contains("live_flows") && message.contains("line"),
            "{message}"
        );
    }

    #[test]
    fn the_reference_page_is_up_to_date() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/config.md");
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(&path, reference_page()).expect("the page is written");
        }
        let page = std::fs::read_to_string(&path).expect("docs/reference/config.md");
        assert!(
            page == reference_page(),
            "run UPDATE_DOCS=1 cargo test -p node config"
        );
    }
}
