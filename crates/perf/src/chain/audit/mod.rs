//! The audit of a chain after a load: every accepted payment stands in a block of every node's main chain exactly once, or has a
//! reason why it left; balances add up; all nodes have one tip and one state.
//!
//! `collect` asks the nodes, `judge` says what is wrong with what they answered and asks nobody.

mod collect;
mod judge;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use collect::{Start, audit, start};

use super::analysis::BlockRow;
use super::books::Accepted;
use super::{Chain, ChainId, ChainTarget};
use crate::results::{AuditResult, Fault};

/// Balances by test account and chain, in minor units.
pub type Balances = BTreeMap<(usize, ChainId), u64>;

/// Whom to ask, and what they are held to.
pub struct Question<'a> {
    /// The nodes.
    pub targets: &'a [Arc<dyn ChainTarget>],
    /// The chains.
    pub chains: &'a [Chain],
    /// Test accounts.
    pub accounts: usize,
    /// What was accepted, by key.
    pub accepted: &'a [Accepted],
    /// Of how many each of these is one.
    pub every: u64,
    /// Where the chain stood before.
    pub start: &'a Start,
    /// Transactions up to which every node's blocks are read in full; beyond, all but the first node show their blocks' hashes.
    pub read_max: u64,
}

/// What an audit found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Audited {
    /// Its verdict.
    pub result: AuditResult,
    /// Blocks of the main chain since the start.
    pub blocks: Vec<BlockRow>,
    /// Where each accepted payment stands: a place among `accepted`, and a height.
    pub placed: Vec<(usize, u64)>,
    /// Accepted payments that left without a block, by reason.
    pub left: Vec<Fault>,
    /// The nodes in the end.
    pub nodes: Vec<NodeEnd>,
}

/// Where a node stood in the end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeEnd {
    /// What it is called.
    pub name: String,
    /// Its height.
    pub height: u64,
    /// Its tip.
    pub tip: String,
    /// A hash of its state, if it has one, with the height that it is of.
    pub state: Option<(u64, String)>,
}
