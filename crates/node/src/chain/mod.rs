//! A running chain node: its core on the runtime, its store, its peers, and its API.
//!
//! ```text
//!   clients ── http ──► runtime (mailbox ► core ► committer) ──► disk
//!      │       peers ── gossip ─► ▲           │
//!      │                          │           └─ durable ──► gossip, answers, notices
//!      └── reads ◄── store        └── queries (the core's memory: its pool, its forgers)
//! ```
//! This module decides nothing about the chain: that is the core's task. Reads of blocks, transactions and balances use the
//! store on the API's own threads, and never wait for the core.

mod bans;
mod chain_core;
mod clock;
mod config;
mod core_views;
mod figures;
mod files;
mod gossip;
mod history;
mod http;
mod keys;
mod make;
mod messages;
mod metrics;
mod perform;
mod pump;
mod queries;
mod reads;
mod rehearsal;
mod shared;
mod start;
mod start_check;
mod start_error;
mod store;
mod submit;
mod upkeep;
mod views;
mod workers;

pub use config::{
    ApiSection, BundlerEntry, ChainConfig, Checkpoint, ForgingSection, NodeSection, P2pSection,
    StoreSection,
};
pub use files::{CONFIG, ChainFiles, GENESIS, is_chain_dir, load_chain_dir, read_genesis};
pub use history::{HistoryMade, HistoryPlan, make_history};
pub(crate) use keys::{account_of, ed25519};
pub use make::{MadeServer, NetworkPlan, SERVERS_MAX, make_network};
pub use metrics::chain_metrics;
pub use rehearsal::{ChainRehearsed, rehearse_chain_start};
pub use start::ChainNode;
pub use start_error::{ChainStartError, ERRORS};
pub use store::STORE;
pub use upkeep::{ChainChecked, accept_chain_store, check_store, init_chain_store, restore_store};
