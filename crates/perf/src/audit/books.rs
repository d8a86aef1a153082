//! The audit's input: the books of every node and the notary, and the load's acknowledged flows.

use std::collections::{BTreeMap, HashMap};

use primitives::Hash;

use super::sample::Sample;

/// A state, by the transaction that made it and its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StateId {
    /// The transaction.
    pub transaction: Hash,
    /// The output's index.
    pub index: u32,
}

impl std::fmt::Display for StateId {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}({})", self.transaction, self.index)
    }
}

impl std::str::FromStr for StateId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let malformed = || format!("{text:?} is no state reference");
        let (transaction, rest) = text.split_once('(').ok_or_else(malformed)?;
        let index = rest.strip_suffix(')').ok_or_else(malformed)?;
        Ok(Self {
            transaction: transaction.parse().map_err(|_| malformed())?,
            index: index.parse().map_err(|_| malformed())?,
        })
    }
}

/// The books of one node, read through its public API.
#[derive(Clone, Debug, Default)]
pub struct NodeBooks {
    /// The node's name.
    pub name: String,
    /// Recorded transactions, those of the sample.
    pub ledger: Vec<Hash>,
    /// Unconsumed fungible states, those that transactions of the sample made.
    pub coins: Vec<StateId>,
    /// The total number of unconsumed fungible states.
    pub states: u64,
    /// Sums over all unconsumed fungible states, by token.
    pub sums: BTreeMap<String, u128>,
    /// Balances reported by the node, by token.
    pub balances: BTreeMap<String, u128>,
}

/// A transaction read in full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spend {
    /// The transaction.
    pub id: Hash,
    /// The states it consumes.
    pub inputs: Vec<StateId>,
}

/// Everything the audit compares.
#[derive(Clone, Debug, Default)]
pub struct Books {
    /// The nodes, notary aside.
    pub nodes: Vec<NodeBooks>,
    /// The notary's entries: consumed state to consuming transaction, where one of the two transactions is in the sample.
    /// `None` if the notary cannot be read.
    pub consumed: Option<HashMap<StateId, Hash>>,
    /// The number of all its entries.
    pub consumed_count: u64,
    /// States consumed by transactions that the load had notarised directly. No node records these transactions.
    pub direct_states: u64,
    /// Transactions read in full: all, or a sample.
    pub spends: Vec<Spend>,
    /// Flows acknowledged to the load as delivered.
    pub acknowledged: Vec<Acknowledged>,
    /// Amounts that must exist, by token: issued less redeemed.
    pub in_circulation: BTreeMap<String, u128>,
    /// Further amounts that may exist: issues that failed without a known outcome.
    pub in_doubt: BTreeMap<String, u128>,
    /// Whether these nodes are the whole network, and their ledgers were read from the beginning.
    pub whole: bool,
    /// Whether every recorded transaction must have been acknowledged (nothing else ran).
    pub nothing_else_ran: bool,
    /// The transactions that are checked one by one. Sums cover all transactions.
    pub sample: Sample,
}

/// A flow that the load was told is delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acknowledged {
    /// The transactions it recorded.
    pub transactions: Vec<Hash>,
    /// Positions in [`Books::nodes`] of all nodes that must have recorded it.
    pub participants: Vec<usize>,
}
