//! The nodes to audit, and the expectations.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::chain::books::Accepted;
use crate::chain::{Chain, ChainId, ChainTarget};

/// Balances by test account and chain, in minor units.
pub type Balances = BTreeMap<(usize, ChainId), u64>;

/// The state of a chain before a load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Start {
    /// Height of its tip.
    pub height: u64,
    /// The time of the tip block, seconds since the chain's beginning.
    pub time_s: u64,
    /// Balances of the test accounts there.
    pub balances: Balances,
}

/// The nodes to audit, and the expectations.
pub struct Question<'a> {
    /// The nodes.
    pub targets: &'a [Arc<dyn ChainTarget>],
    /// The chains.
    pub chains: &'a [Chain],
    /// Test accounts.
    pub accounts: usize,
    /// Accepted payments, by key.
    pub accepted: &'a [Accepted],
    /// Each of these stands for this many payments.
    pub every: u64,
    /// The state of the chain before the load.
    pub start: &'a Start,
    /// Up to this many transactions, every node's blocks are read in full. Above it, only the first node's are; the
    /// others return block hashes.
    pub read_max: u64,
}
