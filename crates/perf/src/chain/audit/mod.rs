//! The audit of a chain after a load. Every accepted payment is in a block of every node's main chain exactly once, or
//! has a reason for leaving. Balances add up. All nodes have one tip and one state.
//!
//! `collect` reads the nodes, `judge` judges the answers without any input or output.

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

/// The result of an audit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Audited {
    /// Its verdict.
    pub result: AuditResult,
    /// Blocks of the main chain since the start.
    pub blocks: Vec<BlockRow>,
    /// The position of each accepted payment: its index in `accepted`, and a height.
    pub placed: Vec<(usize, u64)>,
    /// Accepted payments that left without a block, by reason.
    pub left: Vec<Fault>,
    /// The nodes at the end.
    pub nodes: Vec<NodeEnd>,
}

/// The state of a node at the end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeEnd {
    /// Its name.
    pub name: String,
    /// Its height.
    pub height: u64,
    /// Its tip.
    pub tip: String,
    /// A hash of its state and the height of that state, if it has one.
    pub state: Option<(u64, String)>,
}
