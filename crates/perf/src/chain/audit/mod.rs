//! The audit of a chain after a load. Every accepted payment is in a block of every node's main chain exactly once, or
//! has a reason for leaving. Balances add up. All nodes have one tip and one state.
//!
//! `collect` reads the nodes within the limits of `pages`, `judge` judges the answers without any input or output.

mod audited;
mod collect;
mod judge;
mod pages;
mod question;

pub use audited::{Audited, NodeEnd};
pub use collect::{audit, start};
pub use question::{Balances, Question, Start};
