//! The sections of `node.toml` and their defaults.

use std::net::SocketAddr;
use std::path::PathBuf;

use ledger::LegalName;
use serde::{Deserialize, Serialize};

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
    /// Where other nodes find this one, if not there.
    #[serde(default)]
    pub advertised: Vec<String>,
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
