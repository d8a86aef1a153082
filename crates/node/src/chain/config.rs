//! `chain.toml`: everything that an operator of a chain node can set. `docs/reference/chain-config.md` lists the fields.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use chain::bundle::{BundleSettings, BundlerRules};
use chain::core::limits::PEERS_MAX;
use chain::pool::PoolSettings;
use primitives::SecretText;
use serde::{Deserialize, Serialize};

use crate::config::{
    ConfigError, ConfigKind, LogSection, TokenEntry, WORKERS_MAX,
    anonymous_connections_per_address, exit_after_failure_s, read_toml,
};

/// A chain node's configuration. Unknown fields are refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChainConfig {
    /// The node and its network.
    pub node: NodeSection,
    /// Connections with other nodes.
    pub p2p: P2pSection,
    /// The HTTP API.
    pub api: ApiSection,
    /// Transactions that are in no block yet.
    #[serde(default)]
    pub pool: PoolSettings,
    /// The accounts that forge on this node.
    #[serde(default)]
    pub forging: ForgingSection,
    /// The bundlers' rules for child blocks.
    #[serde(default)]
    pub bundling: BundleSettings,
    /// The accounts that bundle on this node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bundlers: Vec<BundlerEntry>,
    /// Blocks that must be on the chain.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checkpoints: Vec<Checkpoint>,
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
    /// The node's name, for display.
    pub name: String,
    /// The network's genesis file; relative to the node's folder.
    #[serde(default = "genesis")]
    pub genesis: PathBuf,
    /// The folder of its data, relative to the node's folder.
    #[serde(default = "data_dir")]
    pub data_dir: PathBuf,
    /// Number of newest blocks whose bodies are kept. `None` keeps all bodies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_blocks: Option<u32>,
    /// Threads that check signatures, the core's own included; 0 for as many as there are cores.
    #[serde(default)]
    pub workers: u16,
}

/// `[p2p]`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct P2pSection {
    /// The address on which it listens for other nodes.
    pub listen: SocketAddr,
    /// Nodes to connect to; others are learnt from them.
    #[serde(default)]
    pub seeds: Vec<SocketAddr>,
    /// Peers connected at once.
    #[serde(default = "peers_max")]
    pub peers_max: usize,
    /// Duration of a ban for misbehaviour, in seconds.
    #[serde(default = "ban_s")]
    pub ban_s: u32,
    /// Maximum time that transactions wait to be sent together with others, in milliseconds.
    #[serde(default = "linger_ms")]
    pub linger_ms: u64,
    /// Bytes of peers' messages that wait to be handled.
    #[serde(default = "inbound_bytes")]
    pub inbound_bytes: usize,
}

/// `[api]`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApiSection {
    /// The address on which it listens for clients.
    pub listen: SocketAddr,
    /// The tokens of operators. Only an operator may change the node itself.
    #[serde(default)]
    pub tokens: Vec<TokenEntry>,
    /// Whether the node signs for passphrases that clients send: test networks only.
    #[serde(default)]
    pub allow_server_signing: bool,
    /// Connections at once.
    #[serde(default = "connections")]
    pub connections_max: usize,
    /// Connections without an operator's token at once.
    #[serde(default = "connections")]
    pub anonymous_connections_max: usize,
    /// The same limit for one address.
    #[serde(default = "anonymous_connections_per_address")]
    pub anonymous_connections_per_address_max: usize,
    /// Requests in flight at once.
    #[serde(default = "requests")]
    pub requests_max: usize,
    /// Largest body of one request.
    #[serde(default = "body_bytes")]
    pub body_bytes_max: usize,
    /// Bytes of bodies in memory at once.
    #[serde(default = "bodies_bytes")]
    pub bodies_bytes_max: usize,
    /// Maximum number of submitted transactions that wait for the core.
    #[serde(default = "submits")]
    pub submits_max: usize,
    /// Maximum number of followers of events.
    #[serde(default = "followers")]
    pub followers_max: usize,
    /// Entries of one page.
    #[serde(default = "page")]
    pub page_max: usize,
}

/// `[forging]`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ForgingSection {
    /// Delay between the time of a forger's block and the making of the block, in milliseconds.
    pub delay_ms: u64,
    /// Files with the seeds of keys that forge, each 64 hexadecimal digits and readable for the owner alone.
    pub key_files: Vec<PathBuf>,
    /// Passphrases of accounts that forge: test networks only.
    pub passphrases: Vec<SecretText>,
}

/// An entry of `bundlers`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BundlerEntry {
    /// A file with the seed of its key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_file: Option<PathBuf>,
    /// Or its passphrase: test networks only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passphrase: Option<SecretText>,
    /// The transactions that it bundles, and their fees.
    pub rules: BundlerRules,
}

/// An entry of `checkpoints`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    /// The block's height.
    pub height: u32,
    /// Its hash.
    pub hash: String,
}

/// `[store]`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StoreSection {
    /// How long to gather writes before each sync, in microseconds.
    pub linger_us: u64,
    /// Bytes of rows kept in memory before they are flushed to tables.
    pub memory_bytes: usize,
    /// Length of a segment of the log, in bytes; at most 1 GiB.
    pub log_bytes: u64,
    /// Bytes of blocks of table files that are cached.
    pub cache_bytes: u64,
    /// The newest blocks that are looked at when the node starts; 0 for none.
    pub check_blocks: u32,
    /// Whether repairable damage that this check finds is repaired.
    pub repair: bool,
    /// Time from a failure of the store to the end of the process, in seconds; 0 if it stays until it is stopped.
    pub exit_after_failure_s: u64,
}

impl Default for StoreSection {
    fn default() -> Self {
        let options = store::Options::default();
        Self {
            linger_us: 0,
            memory_bytes: options.memtable_bytes,
            log_bytes: options.log_bytes,
            cache_bytes: options.cache_bytes,
            check_blocks: CHECK_BLOCKS,
            repair: true,
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

/// Blocks that a start looks at: more than a fork among healthy nodes rolls back.
const CHECK_BLOCKS: u32 = 100;

fn genesis() -> PathBuf {
    PathBuf::from("genesis.toml")
}

fn data_dir() -> PathBuf {
    PathBuf::from("data")
}

fn peers_max() -> usize {
    48
}

fn ban_s() -> u32 {
    600
}

fn linger_ms() -> u64 {
    20
}

fn inbound_bytes() -> usize {
    64 << 20
}

fn connections() -> usize {
    2_048
}

fn requests() -> usize {
    4_096
}

fn body_bytes() -> usize {
    4 << 20
}

fn bodies_bytes() -> usize {
    64 << 20
}

fn submits() -> usize {
    20_000
}

fn followers() -> usize {
    256
}

fn page() -> usize {
    1_000
}

impl ChainConfig {
    /// Reads and checks a file.
    ///
    /// # Errors
    /// The file can't be read, is not TOML, has a field that is missing, unknown or of the wrong type, or a value out of range.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let read = read_toml(path).map_err(|error| error.in_file(ConfigKind::Chain));
        let config: Self = read?;
        config.check(path)?;
        Ok(config)
    }

    /// The same of a file's text; `path` is for messages.
    ///
    /// # Errors
    /// As for [`ChainConfig::read`].
    pub fn parse(text: &str, path: &Path) -> Result<Self, ConfigError> {
        let parsed = crate::config::parse_toml(text, path);
        let config: Self = parsed.map_err(|error| error.in_file(ConfigKind::Chain))?;
        config.check(path)?;
        Ok(config)
    }

    fn check(&self, path: &Path) -> Result<(), ConfigError> {
        const TIB: u64 = 1 << 40;
        let ranges: &[(&'static str, u64, u64, u64)] = &[
            (
                "p2p.peers_max",
                self.p2p.peers_max as u64,
                1,
                PEERS_MAX as u64,
            ),
            ("node.workers", self.node.workers.into(), 0, WORKERS_MAX),
            ("p2p.ban_s", u64::from(self.p2p.ban_s), 1, 31_536_000),
            ("p2p.linger_ms", self.p2p.linger_ms, 0, 10_000),
            (
                "p2p.inbound_bytes",
                self.p2p.inbound_bytes as u64,
                4 << 20,
                TIB,
            ),
            (
                "api.connections_max",
                self.api.connections_max as u64,
                1,
                1 << 20,
            ),
            (
                "api.anonymous_connections_max",
                self.api.anonymous_connections_max as u64,
                1,
                1 << 20,
            ),
            (
                "api.anonymous_connections_per_address_max",
                self.api.anonymous_connections_per_address_max as u64,
                1,
                1 << 20,
            ),
            ("api.requests_max", self.api.requests_max as u64, 1, 1 << 20),
            (
                "api.body_bytes_max",
                self.api.body_bytes_max as u64,
                1 << 10,
                1 << 30,
            ),
            (
                "api.bodies_bytes_max",
                self.api.bodies_bytes_max as u64,
                self.api.body_bytes_max as u64,
                TIB,
            ),
            (
                "api.submits_max",
                self.api.submits_max as u64,
                1_000,
                10_000_000,
            ),
            (
                "api.followers_max",
                self.api.followers_max as u64,
                1,
                1 << 16,
            ),
            ("api.page_max", self.api.page_max as u64, 1, 10_000),
            ("forging.delay_ms", self.forging.delay_ms, 0, 3_600_000),
            (
                "pool.transactions_max",
                self.pool.transactions_max as u64,
                1,
                100_000_000,
            ),
            ("pool.bytes_max", self.pool.bytes_max as u64, 1 << 10, TIB),
            (
                "store.memory_bytes",
                self.store.memory_bytes as u64,
                1 << 20,
                TIB,
            ),
            (
                "store.log_bytes",
                self.store.log_bytes,
                1 << 20,
                store::LOG_BYTES_MAX,
            ),
            ("store.cache_bytes", self.store.cache_bytes, 0, TIB),
            (
                "store.check_blocks",
                u64::from(self.store.check_blocks),
                0,
                1_000_000,
            ),
            ("store.linger_us", self.store.linger_us, 0, 1_000_000),
            (
                "store.exit_after_failure_s",
                self.store.exit_after_failure_s,
                0,
                31_536_000,
            ),
        ];
        for (field, value, least, most) in ranges {
            if value < least || value > most {
                return Err(ConfigError::OutOfRange {
                    path: path.to_owned(),
                    field,
                    message: format!("{value} is not between {least} and {most}"),
                });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALLEST: &str =
        "[node]\nname = \"a\"\n[p2p]\nlisten = \"127.0.0.1:1\"\n[api]\nlisten = \"127.0.0.1:2\"\n";

    fn check(more: &str) -> Result<ChainConfig, String> {
        ChainConfig::parse(&format!("{SMALLEST}{more}"), Path::new("chain.toml"))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn what_has_a_default_may_be_left_out_and_what_is_wrong_is_named() {
        let config = check("").expect("enough");
        let text = toml::to_string(&config).expect("a configuration has a TOML form");
        assert_eq!(toml::from_str::<ChainConfig>(&text), Ok(config));
        for (more, named) in [
            ("page_max = 0", "api.page_max"),
            ("page_mx = 1", "did you mean `page_max`?"),
            ("[pool]\ntransactions_max = 0", "pool.transactions_max"),
            ("[forging]\ndelay_ms = 9999999", "forging.delay_ms"),
            ("[store]\nlog_bytes = 1073741825", "store.log_bytes"),
            ("[[bundlers]]\npassphrase = \"0\"", "rules"),
        ] {
            let message = check(more).expect_err(more);
            assert!(message.contains(named), "{more}: {message}");
        }
        let more = "[[bundlers]]\npassphrase = \"0\"\nrules = { child = 2, rate_min = 5 }\n";
        assert_eq!(
            check(more).expect("good").bundlers[0].rules.rate_min.get(),
            5
        );
    }

    #[test]
    fn debug_output_and_errors_hide_passphrases() {
        let bundler =
            "[[bundlers]]\npassphrase = \"swordfish\"\nrules = { child = 2, rate_min = 5 }\n";
        let forging = "[forging]\npassphrases = [\"swordfish\"]\n";
        let config = check(&format!("{bundler}{forging}")).expect("good");
        for shown in [format!("{config:?}"), format!("{config:#?}")] {
            assert!(shown.contains("(secret)"), "{shown}");
            assert!(!shown.contains("swordfish"), "{shown}");
        }
        let text = toml::to_string(&config).expect("a configuration has a TOML form");
        assert_eq!(text.matches("swordfish").count(), 2, "the file keeps them");
        for more in [
            "[forging]\npassphrases = \"swordfish\"",
            "[forging]\npassphrases = [\"swordfish\", 3]",
            "[forging]\npassphrases = [\"swordfish\"",
            "[forging]\nkey_files = { a = \"swordfish\" }",
        ] {
            let message = check(more).expect_err(more);
            assert!(!message.contains("swordfish"), "{message}");
            assert!(message.contains("line"), "{message}");
        }
    }
}
