//! Time locks: states that prevent the states bound to them from being consumed before a time.
//!
//! A lock is an output next to the states that it locks, in one ring of encumbrances with them. A transaction that consumes one
//! of them must consume them all, and the lock can be consumed only from its time on. At that time, the lock starts the flow
//! `cash.unlock`.

mod contract;
mod errors;
mod state;

pub(crate) mod unlock;

pub use contract::{LOCK_NAME, LockContract, lock_code, lock_name};
pub use errors::LockError;
pub use state::{LockCommand, LockState};
