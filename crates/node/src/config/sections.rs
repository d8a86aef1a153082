//! The sections of `node.toml` and their defaults.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use ledger::LegalName;
use serde::{Deserialize, Serialize};

use super::compression::CompressionSetting;
use crate::http::AnonymousLimits;

/// `[node]`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeSection {
    /// The legal name.
    pub name: LegalName,
    /// The folder of its data, relative to the node's folder.
    #[serde(default = "data_dir")]
    pub data_dir: PathBuf,
    /// Threads that do the kernel's jobs, its own included; 0 for as many as there are cores.
    #[serde(default)]
    pub workers: u16,
}

impl NodeSection {
    /// Returns the number of threads that do the kernel's jobs, without its own thread.
    pub fn other_workers(&self) -> usize {
        worker_threads(self.workers) - 1
    }
}

/// Returns the number of threads that share the work of a core, its own included: the setting, or the number of cores if it is 0.
pub fn worker_threads(setting: u16) -> usize {
    match setting {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        workers => workers.into(),
    }
}

/// `[p2p]`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct P2pSection {
    /// The address on which it listens for other nodes.
    pub listen: SocketAddr,
    /// The addresses at which other nodes reach this one, if they differ from the listening address.
    #[serde(default)]
    pub advertised: Vec<String>,
    /// Whether to compress.
    #[serde(default)]
    pub compression: CompressionSetting,
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
    /// The address on which it listens for clients.
    pub listen: SocketAddr,
    /// The tokens of callers.
    #[serde(default)]
    pub tokens: Vec<TokenEntry>,
    /// Connections at once.
    #[serde(default = "connections")]
    pub connections_max: usize,
    /// Connections without a good token at once.
    #[serde(default = "anonymous_connections")]
    pub anonymous_connections_max: usize,
    /// The same limit for one address.
    #[serde(default = "anonymous_connections_per_address")]
    pub anonymous_connections_per_address_max: usize,
    /// Largest body of one request.
    #[serde(default = "body_bytes")]
    pub body_bytes_max: usize,
    /// Flows that one user may start in a second; 0 means unlimited.
    #[serde(default)]
    pub user_starts_per_s: u32,
    /// The largest start of a flow by one user, in bytes; 0 means that only the general limits apply.
    #[serde(default)]
    pub user_start_bytes_max: u32,
    /// Starts outstanding on one stream.
    #[serde(default = "stream_outstanding")]
    pub stream_outstanding_max: usize,
    /// Requests in flight at once.
    #[serde(default = "requests")]
    pub requests_max: usize,
    /// Streams at once.
    #[serde(default = "streams")]
    pub streams_max: usize,
    /// Maximum number of followers of events.
    #[serde(default = "followers")]
    pub followers_max: usize,
    /// Bytes of the vault's events in a second, for all followers together.
    #[serde(default = "followers_bytes")]
    pub followers_bytes_per_s: u64,
    /// Queries of the vault that run at once.
    #[serde(default = "queries")]
    pub queries_max: usize,
    /// Bytes of bodies in memory at once.
    #[serde(default = "bodies_bytes")]
    pub bodies_bytes_max: usize,
    /// Entries of one page.
    #[serde(default = "page")]
    pub page_max: usize,
    /// How long a request may wait, in seconds.
    #[serde(default = "wait_s")]
    pub wait_s_max: u64,
    /// For TLS and a request's head to arrive, in seconds.
    #[serde(default = "head_s")]
    pub head_s: u64,
    /// For a body to arrive, and for each 64 KiB of a file to move, in seconds.
    #[serde(default = "body_s")]
    pub body_s: u64,
    /// Maximum time in seconds in which a client has to read written bytes.
    #[serde(default = "write_s")]
    pub write_s: u64,
}

/// `[users]`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct UsersSection {
    /// Lifetime of a login that asks for none, in seconds.
    pub login_s: u64,
    /// Maximum lifetime of a login, in seconds.
    pub login_s_max: u64,
    /// Logins of one user at once.
    pub logins_per_user: usize,
    /// Passwords checked at once.
    pub password_checks: usize,
    /// Logins that wait for that.
    pub password_waits: usize,
    /// Number of failed logins with one name from one address (IPv6: one /64 network) before back-off begins. Failed logins with one
    /// name from all addresses where it has not logged in are counted together as well.
    pub failures_free: u32,
    /// Number of failed logins with any names that have not logged in from one address (IPv6: one /64 network), before back-off begins.
    pub address_failures_free: u32,
    /// Maximum back-off after a failed login, in seconds.
    pub failure_wait_s_max: u64,
    /// Failures are forgotten after so long, in seconds.
    pub failure_memory_s: u64,
}

/// An entry of `api.tokens`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenEntry {
    /// The user of the token.
    pub user: String,
    /// SHA-256 of the token, in hexadecimal.
    pub sha256: String,
}

/// `[notary]`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NotarySection {
    /// Whether it sees and verifies whole transactions; for the notary's life, as its node info says.
    pub validating: bool,
    /// Maximum requests in one batch.
    pub batch_requests_max: usize,
    /// Maximum states in one batch.
    pub batch_states_max: usize,
    /// Requests that wait.
    pub queue_requests_max: usize,
    /// States of all requests that wait.
    pub queue_states_max: usize,
    /// Newly consumed states of one requester in a second.
    pub requester_states_per_s: u64,
    /// For how many seconds a requester may save that up.
    pub requester_burst_s: u64,
    /// Whether flows of other nodes may open sessions with it.
    pub answer_sessions: bool,
}

/// `[limits]`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsSection {
    /// Maximum running flows that clients have started.
    pub live_flows: usize,
    /// Maximum expected weight of these flows together, in bytes.
    pub live_bytes: usize,
    /// Starts that wait until another flow ends.
    pub start_queue: usize,
    /// How long they may have to wait.
    pub start_wait_ms: u64,
    /// Flows started by peers that have not ended.
    pub responders: usize,
    /// Bytes that live flows have received from peers.
    pub peer_bytes: usize,
    /// Bytes of the journals of flows started by peers.
    pub peer_journal_bytes: usize,
    /// How long a flow started by a peer waits for the peer's next message, in seconds.
    pub responder_idle_s: u64,
    /// Journals of flows that come back when the node starts.
    pub journal_bytes: usize,
    /// Maximum memory for coins that selection can choose from.
    pub coin_bytes: usize,
    /// Maximum coins of one token kept in memory.
    pub coins_per_token: usize,
    /// Peers' messages that wait to be handled.
    pub inbound_bytes: usize,
    /// Threads for connections of clients; 0 for half of the cores.
    pub io_threads: u16,
}

/// `[store]`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StoreSection {
    /// How long to gather writes before each sync.
    pub linger_us: u64,
    /// Rows kept in memory before they are flushed to tables.
    pub memory_bytes: usize,
    /// Length of a segment of the log.
    pub log_bytes: u64,
    /// Time from a failure of the store to the end of the process, in seconds.
    pub exit_after_failure_s: u64,
}

/// `[database]`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DatabaseSection {
    /// The URL of a PostgreSQL database. If it is empty, the data is in the node's own folder.
    pub url: String,
    /// The file of the password.
    pub password_file: PathBuf,
    /// The file of the certificates that the server's certificate must be signed with.
    pub ca: PathBuf,
    /// The schema. If it is empty, the node's name and a part of its id.
    pub schema: String,
    /// Whether to wait for the lease of another process of this node, however long.
    pub standby: bool,
    /// Time after which another process of this node may take over, in seconds.
    pub lease_s: u64,
    /// Time limit for trying commits again, in seconds.
    pub give_up_s: u64,
}

impl Default for DatabaseSection {
    fn default() -> Self {
        Self {
            url: String::new(),
            password_file: PathBuf::new(),
            ca: PathBuf::new(),
            schema: String::new(),
            standby: false,
            lease_s: 3,
            give_up_s: 300,
        }
    }
}

/// `[notary_database]`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NotaryDatabaseSection {
    /// The URL of the database that the workers of a replicated notary share. Empty for any other node.
    pub url: String,
    /// The file of the password.
    pub password_file: PathBuf,
    /// The file of the certificates that the servers' certificates must be signed with.
    pub ca: PathBuf,
    /// Time limit for entering a batch, in seconds.
    pub give_up_s: u64,
}

impl Default for NotaryDatabaseSection {
    fn default() -> Self {
        Self {
            url: String::new(),
            password_file: PathBuf::new(),
            ca: PathBuf::new(),
            give_up_s: 5,
        }
    }
}

/// `[cache]`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CacheSection {
    /// Recorded transactions.
    pub transactions_bytes: usize,
    /// Signatures known to be good and transactions known to be valid, each.
    pub signatures_bytes: usize,
    /// Decoded public keys.
    pub keys_bytes: usize,
    /// Which keys are fresh ones of this node, and whose the keys of others are, each.
    pub fresh_keys_bytes: usize,
    /// Outcomes of ended flows.
    pub outcomes_bytes: usize,
    /// Transactions that only this node has.
    pub unshared_bytes: usize,
    /// Cache of the transactions that went along with messages, by peer.
    pub sent_along_bytes: usize,
    /// Blocks of the store's table files.
    pub blocks_bytes: u64,
    /// Database pages of the view's writer.
    pub view_bytes: u64,
    /// Database pages of each of the view's readers.
    pub view_reader_bytes: u64,
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

/// The format of log lines.
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

fn queue_bytes() -> usize {
    32 << 20
}

fn connections() -> usize {
    2_048
}

fn anonymous_connections() -> usize {
    AnonymousLimits::default().connections_max
}

/// The default of `api.anonymous_connections_per_address_max`, here and on the chain.
pub(crate) fn anonymous_connections_per_address() -> usize {
    AnonymousLimits::default().connections_per_address_max
}

/// The default of `store.exit_after_failure_s`, here and on the chain.
pub(crate) fn exit_after_failure_s() -> u64 {
    10
}

fn body_bytes() -> usize {
    1 << 20
}

fn stream_outstanding() -> usize {
    4_096
}

fn requests() -> usize {
    4_096
}

fn streams() -> usize {
    256
}

fn followers() -> usize {
    1_024
}

fn followers_bytes() -> u64 {
    16 << 20
}

fn queries() -> usize {
    8
}

fn bodies_bytes() -> usize {
    32 << 20
}

fn page() -> usize {
    10_000
}

fn wait_s() -> u64 {
    300
}

fn head_s() -> u64 {
    10
}

fn body_s() -> u64 {
    30
}

fn write_s() -> u64 {
    60
}

impl Default for UsersSection {
    fn default() -> Self {
        let limits = crate::users::UserLimits::default();
        Self {
            login_s: limits.login_s,
            login_s_max: limits.login_s_max,
            logins_per_user: limits.logins_per_user_max,
            password_checks: limits.password_checks_max,
            password_waits: limits.password_waits_max,
            failures_free: limits.failures_free,
            address_failures_free: limits.address_failures_free,
            failure_wait_s_max: limits.failure_wait_max.as_secs(),
            failure_memory_s: limits.failure_memory.as_secs(),
        }
    }
}

impl From<UsersSection> for crate::users::UserLimits {
    fn from(section: UsersSection) -> Self {
        Self {
            login_s: section.login_s,
            login_s_max: section.login_s_max,
            logins_per_user_max: section.logins_per_user,
            password_checks_max: section.password_checks,
            password_waits_max: section.password_waits,
            failures_free: section.failures_free,
            address_failures_free: section.address_failures_free,
            failure_wait_max: Duration::from_secs(section.failure_wait_s_max),
            failure_memory: Duration::from_secs(section.failure_memory_s),
        }
    }
}

impl Default for NotarySection {
    fn default() -> Self {
        let options = notary::NotaryOptions::default();
        Self {
            validating: options.kind == notary::NotaryKind::Validating,
            batch_requests_max: options.batch_requests_max,
            batch_states_max: options.batch_states_max,
            queue_requests_max: options.queue_requests_max,
            queue_states_max: options.queue_states_max,
            requester_states_per_s: options.requester_states_per_s,
            requester_burst_s: options.requester_burst_s,
            answer_sessions: false,
        }
    }
}

impl Default for LimitsSection {
    fn default() -> Self {
        let options = kernel::KernelOptions::default();
        Self {
            live_flows: options.live_flows_max,
            live_bytes: options.live_bytes_max,
            start_queue: options.start_queue_max,
            start_wait_ms: options.start_wait_ms_max,
            responders: options.flow.responders_max,
            peer_bytes: options.flow.peers_bytes_max,
            peer_journal_bytes: options.flow.peers_journal_bytes_max,
            responder_idle_s: options.flow.responder_idle_ms / 1_000,
            journal_bytes: options.journals_bytes_max,
            coin_bytes: options.selection.coins_bytes_max,
            coins_per_token: options.selection.coins_per_pool_max,
            inbound_bytes: 16 << 20,
            io_threads: 0,
        }
    }
}

impl Default for StoreSection {
    fn default() -> Self {
        let options = store::Options::default();
        Self {
            linger_us: 0,
            memory_bytes: options.memtable_bytes,
            log_bytes: options.log_bytes,
            exit_after_failure_s: exit_after_failure_s(),
        }
    }
}

impl StoreSection {
    /// Time from a failure of the store to the end of the process; `None` if it stays until it is stopped.
    pub fn exit_after_failure(&self) -> Option<Duration> {
        let s = self.exit_after_failure_s;
        (s > 0).then(|| Duration::from_secs(s))
    }
}

impl Default for CacheSection {
    fn default() -> Self {
        let kernel = kernel::KernelOptions::default();
        Self {
            transactions_bytes: kernel.transactions_bytes,
            signatures_bytes: kernel.known_signatures_bytes,
            keys_bytes: kernel.keys_bytes,
            fresh_keys_bytes: kernel.fresh_keys_bytes,
            outcomes_bytes: kernel.outcomes_bytes,
            unshared_bytes: kernel.unshared_bytes,
            sent_along_bytes: kernel.sent_along_bytes,
            blocks_bytes: store::Options::default().cache_bytes,
            view_bytes: 4 << 20,
            view_reader_bytes: vaultview::ViewOptions::default().reader_cache_bytes,
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
