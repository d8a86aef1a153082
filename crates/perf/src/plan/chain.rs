//! A chain to load: its nodes, tokens, test accounts, and how payments are sent.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::chain::{Chain, ChainId};

/// What to bring up and load, or what runs already, where a scenario is about a chain.
#[derive(Clone, Debug, PartialEq)]
pub struct ChainPlan {
    /// Nodes, at least 1: `node-1` and so on.
    pub nodes: u32,
    /// The aim of the time between blocks, seconds.
    pub block_s: u32,
    /// The constants of consensus: `loadtest` or `production`.
    pub profile: String,
    /// The chains, parent first.
    pub chains: Vec<Chain>,
    /// The test accounts.
    pub accounts: Vec<ChainAccount>,
    /// Payments that go to a node in one request at most.
    pub batch: u32,
    /// Payments that wait for a block at any node at most, if that is bounded: further ones wait before they are sent.
    pub waiting_max: Option<u64>,
    /// Payments in the chain before the load.
    pub history: u64,
    /// Seconds to wait after the load until everything accepted stands in blocks.
    pub drain_s: f64,
    /// Minutes that a payment is valid for.
    pub deadline_minutes: u16,
    /// Settings of every node's configuration, by dotted name.
    pub settings: BTreeMap<String, toml::Value>,
    /// Somebody's running nodes instead.
    pub target: Option<ChainServers>,
}

/// A test account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainAccount {
    /// Its key is made of this.
    pub passphrase: String,
    /// On which node it forges and bundles, from 1.
    pub node: u32,
}

/// Nodes that somebody else runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChainServers {
    /// Nodes of ours, by their folders, each with the address, root certificate and token of its API.
    Tally(Vec<PathBuf>),
    /// Servers of the Ardor/Nxt family.
    Nxt {
        /// `http://host:port` of each.
        urls: Vec<String>,
        /// Whether payments are prepared, signed and broadcast in calls of their own.
        prepared: bool,
    },
}

/// Digits behind the point of the published test's tokens; the parent's first.
const DECIMALS: [u8; 5] = [8, 8, 4, 8, 8];

/// The parent chain and so many children, as they are if nobody says otherwise.
#[must_use]
pub fn default_chains(children: u32) -> Vec<Chain> {
    (0..=children)
        .map(|at| {
            let decimals = DECIMALS[(at as usize).min(DECIMALS.len() - 1)];
            chain(
                u8::try_from(at + 1).unwrap_or(u8::MAX),
                None,
                decimals,
                None,
            )
        })
        .collect()
}

/// A chain with the least fee where none is given: a whole parent token, or a hundredth of a child's.
#[must_use]
pub fn chain(id: u8, name: Option<String>, decimals: u8, fee: Option<u64>) -> Chain {
    let whole = 10u64.saturating_pow(u32::from(decimals));
    let id = ChainId(id);
    let least = if id == ChainId::PARENT {
        whole
    } else {
        (whole / 100).max(1)
    };
    let name = name.unwrap_or_else(|| match id {
        ChainId::PARENT => "parent".to_owned(),
        ChainId(id) => format!("child-{}", id - 1),
    });
    Chain {
        id,
        name,
        decimals,
        fee: fee.unwrap_or(least),
    }
}

/// So many test accounts with the passphrases 0, 1 and so on, dealt out to the nodes.
#[must_use]
pub fn default_accounts(count: u32, nodes: u32) -> Vec<ChainAccount> {
    (0..count)
        .map(|number| ChainAccount {
            passphrase: number.to_string(),
            node: number % nodes.max(1) + 1,
        })
        .collect()
}
