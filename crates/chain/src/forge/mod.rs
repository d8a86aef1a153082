//! Forging: a block out of what waits in the pool.
//!
//! [`assemble`] chooses, [`seal`] signs. The pool's invariant makes every choice valid: what it offers is covered, and in a block
//! debits come before credits.

mod assemble;
mod seal;
#[cfg(test)]
mod tests;

pub use assemble::{Candidate, assemble, may_stand, stands};
pub(crate) use seal::chain_key;
pub use seal::seal;
