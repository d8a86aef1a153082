//! Time locks: states that keep what they are bound to from being consumed before a time.
//!
//! A lock is an output beside the states that it locks, in one ring of encumbrances with them: whoever consumes one consumes
//! them all, and the lock lets itself be consumed only when its time has come. When it has, it starts `cash.unlock`.

mod contract;
mod errors;
mod state;

pub use contract::{LOCK_NAME, LockContract, lock_code, lock_name};
pub use errors::LockError;
pub use state::{LockCommand, LockState};
