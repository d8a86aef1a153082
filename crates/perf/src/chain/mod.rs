//! Chains under load: the nodes to drive, the payments they accepted, and the analysis of a finished run.
//!
//! The same payments go to our own nodes or to a server of the Ardor/Nxt family. [`ChainTarget`] is the interface to
//! both.
//!
//! Modules in reading order: `target` (the interface), `ours` (our own nodes), `nxt` (the second driver, and a small fake
//! of such a server), `connect` (the nodes of a plan). `site` with `backlog` sends payments and limits the waiting ones, and `books` keeps the accepted ones. The unit
//! itself is the workload `payment`. `watch` with `line` follows a node's main chain as it grows. `audit`, and `analysis`
//! with `outcome` and `left`, evaluate a finished run.

pub mod analysis;
pub mod audit;
pub mod backlog;
pub mod books;
mod codes;
pub mod connect;
pub mod left;
pub mod line;
pub mod nxt;
pub mod ours;
pub mod outcome;
pub mod result_input;
mod site;
#[cfg(test)]
mod staged;
mod target;
pub mod watch;

pub use crate::workload::Boxed;
pub use codes::ERRORS;
pub use site::ChainSite;
pub use target::{
    ANSWER_TRANSACTIONS_MAX, BlockSeen, Chain, ChainId, ChainStatus, ChainTarget, ChildCount,
    Detail, Fate, Moved, Payment, TxKey,
};
