//! Chains under load: whom to drive, what was accepted, and what a finished run shows.
//!
//! The same payments go to nodes of ours or to a server of the Ardor/Nxt family: [`ChainTarget`] is what a load needs of either.
//!
//! Modules in reading order: `target` (a node as a load sees it), `ours` (our own nodes), `nxt` (the
//! second driver, and a small fake of such a server),
//! `payments`
//! with `books` and `backlog` (the load, what was accepted, and what holds it back), `watch` with `line` (a node's main chain as it grows), `audit`, `analysis` with
//! `outcome` (what a finished run shows).

pub mod analysis;
pub mod audit;
pub mod backlog;
pub mod books;
mod codes;
pub mod line;
pub mod nxt;
pub mod ours;
pub mod outcome;
pub mod payments;
mod target;
pub mod watch;

pub use codes::ERRORS;
pub use target::{
    ANSWER_TRANSACTIONS_MAX, BlockSeen, Boxed, Chain, ChainId, ChainStatus, ChainTarget,
    ChildCount, Detail, Fate, Moved, Payment, TxKey,
};
