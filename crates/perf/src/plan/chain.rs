//! A chain to load: its nodes, tokens, test accounts, and how payments are sent.

use std::collections::BTreeMap;
use std::path::PathBuf;

use primitives::SecretText;
use serde::{Deserialize, Serialize};

use crate::chain::{Chain, ChainId};

/// The chain to bring up or use, and to load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChainPlan {
    /// Nodes, at least 1: `node-1` and so on.
    pub nodes: u32,
    /// The target time between blocks, seconds.
    pub block_s: u32,
    /// The constants of consensus: `loadtest` or `production`.
    pub profile: String,
    /// The chains, parent first.
    pub chains: Vec<Chain>,
    /// The test accounts.
    pub accounts: Vec<ChainAccount>,
    /// Upper limit on payments in one request to a node.
    pub batch: u32,
    /// Upper limit on payments that wait for a block at any node, if there is one. Further ones wait before they are
    /// sent.
    pub waiting_max: Option<u64>,
    /// The accounts that bundle on each node of ours.
    pub bundlers: Bundlers,
    /// Payments in the chain before the load.
    pub history: u64,
    /// Seconds to wait after the load until all accepted payments are in blocks.
    pub drain_s: f64,
    /// Validity of a payment, in minutes.
    pub deadline_minutes: u16,
    /// Settings of every node's configuration, by dotted name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, toml::Value>,
    /// Existing nodes to use instead.
    pub target: Option<ChainServers>,
}

impl ChainPlan {
    /// Returns the names of its nodes.
    #[must_use]
    pub fn node_names(&self) -> Vec<String> {
        (1..=self.nodes)
            .map(|node| format!("node-{node}"))
            .collect()
    }
}

/// The accounts that bundle on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Bundlers {
    /// The first of its test accounts.
    First,
    /// All of its test accounts.
    All,
}

/// A test account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainAccount {
    /// The source of its key.
    pub passphrase: SecretText,
    /// The node on which it forges and bundles, from 1.
    pub node: u32,
}

/// Existing nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "servers", rename_all = "lowercase")]
pub enum ChainServers {
    /// Our own nodes, by their folders, each with the address, root certificate and token of its API.
    Tally(Vec<PathBuf>),
    /// Servers of the Ardor/Nxt family.
    Nxt {
        /// `http://host:port` of each.
        urls: Vec<String>,
        /// Whether payments are prepared, signed and broadcast in separate calls.
        prepared: bool,
    },
}

/// Decimal places of the published test's tokens; the parent's first.
const DECIMALS: [u8; 5] = [8, 8, 4, 8, 8];

/// Returns the default chains: the parent chain and `children` child chains.
#[must_use]
pub fn default_chains(children: u32) -> Vec<Chain> {
    (0..=children)
        .map(|at| {
            let decimals = DECIMALS[(at as usize).min(DECIMALS.len() - 1)];
            chain(
                u8::try_from(at + 1).expect("no network has more than 255 chains"),
                None,
                decimals,
                None,
            )
        })
        .collect()
}

/// Returns a chain. Without a given fee it has the minimum: a whole parent token, or a hundredth of a child's.
#[must_use]
pub fn chain(id: u8, name: Option<String>, decimals: u8, fee: Option<u64>) -> Chain {
    let whole = 10u64.checked_pow(u32::from(decimals));
    let whole = whole.expect("a token has at most DECIMALS_MAX decimals");
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

/// Returns this many test accounts with the passphrases 0, 1 and so on, assigned to the nodes in turn.
#[must_use]
pub fn default_accounts(count: u32, nodes: u32) -> Vec<ChainAccount> {
    (0..count)
        .map(|number| ChainAccount {
            passphrase: number.to_string().into(),
            node: number % nodes.max(1) + 1,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::{nxt, ours};

    #[test]
    fn debug_output_hides_passphrases() {
        let passphrase = SecretText::from("swordfish");
        let account = ChainAccount {
            passphrase: passphrase.clone(),
            node: 1,
        };
        let ours = ours::Options {
            endpoint: client::Endpoint {
                address: String::new(),
                server_name: String::new(),
                root_pem: String::new(),
                token: "swordfish".into(),
            },
            name: String::new(),
            chains: Vec::new(),
            passphrases: vec![passphrase.clone()],
            forgers: Vec::new(),
            deadline_minutes: 1,
        };
        let nxt = nxt::Options {
            url: String::new(),
            name: String::new(),
            chains: Vec::new(),
            passphrases: vec![passphrase.clone()],
            forgers: Vec::new(),
            signing: nxt::Signing::Passphrase,
            deadline_minutes: 1,
            patience: std::time::Duration::ZERO,
        };
        let fake = nxt::fake::Behaviour {
            passphrases: vec![passphrase],
            ..nxt::fake::Behaviour::default()
        };
        for shown in [
            format!("{account:?} {account:#?}"),
            format!("{ours:?} {ours:#?}"),
            format!("{nxt:?} {nxt:#?}"),
            format!("{fake:?} {fake:#?}"),
        ] {
            assert!(!shown.contains("swordfish"), "{shown}");
        }
    }
}
