//! A running chain node: its core's thread, its store, its peers, its API.
//!
//! ```text
//!   clients ── http ──► mailbox ──► core thread ──► committer ──► disk
//!      │       peers ──── gossip ──►   ▲   ▲            │
//!      │                               │   └ Committed ─┴── gossip, answers, notices ◄── durable
//!      └── reads ◄── store             └── looks (what only the core knows: its pool, its forgers)
//! ```
//! Nothing here decides anything about the chain: that is the core's. Reads of blocks, transactions and balances go to the
//! store on the API's own threads and never wait for the core.

mod bans;
mod clock;
mod config;
mod figures;
mod files;
mod gossip;
mod history;
mod http;
mod looks;
mod make;
mod metrics;
mod perform;
mod reads;
mod shared;
mod start;
mod start_check;
mod start_error;
mod submit;
mod thread;
mod upkeep;
mod views;

pub use config::{
    ApiSection, BundlerEntry, ChainConfig, Checkpoint, ForgingSection, NodeSection, P2pSection,
    StoreSection,
};
pub use files::{CONFIG, ChainFiles, GENESIS, is_chain_dir, load_chain_dir, read_genesis};
pub use history::{HistoryMade, HistoryPlan, make_history};
pub use make::{MadeServer, NetworkPlan, SERVERS_MAX, make_network};
pub use metrics::chain_metrics;
pub use start::{ChainNode, STORE};
pub use start_error::{ChainStartError, ERRORS};
pub use upkeep::{ChainChecked, accept_chain_store, check_store, init_chain_store, restore_store};

use chain::AccountId;
use primitives::{KeyPair, PublicKey};

/// The account of a key pair.
pub(crate) fn account_of(key: &KeyPair) -> AccountId {
    AccountId::of_key(&ed25519(key))
}

/// The public key of a key pair of the chain.
pub(crate) fn ed25519(key: &KeyPair) -> [u8; 32] {
    match key.public() {
        PublicKey::Ed25519(key) => *key,
        // Seeds and passphrases make no other keys.
        PublicKey::EcdsaP256(_) | PublicKey::Composite(_) => [0; 32],
    }
}
