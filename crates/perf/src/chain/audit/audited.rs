//! The result of an audit.

use crate::chain::analysis::BlockRow;
use crate::results::AuditResult;

/// The result of an audit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Audited {
    /// Its verdict.
    pub result: AuditResult,
    /// Blocks of the main chain since the start.
    pub blocks: Vec<BlockRow>,
    /// The position of each accepted payment: its index in `accepted`, and a height.
    pub placed: Vec<(usize, u64)>,
    /// Each accepted payment that left without a block: its index in `accepted`, and the reason.
    pub left: Vec<(usize, String)>,
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
