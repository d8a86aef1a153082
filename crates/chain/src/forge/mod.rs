//! Forging: making a block from the transactions that wait in the pool.
//!
//! [`choose_body`] chooses and [`seal`] signs. The pool's invariant makes every choice valid: each transaction that it offers is
//! covered, and in a block debits come before credits.

mod choose_body;
mod seal;
#[cfg(test)]
mod tests;

pub use choose_body::{Candidate, choose_body, may_stand, stands};
pub(crate) use seal::chain_key;
pub use seal::seal;
