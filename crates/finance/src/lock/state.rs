//! A lock, and the commands on it.

use primitives::{PublicKey, Timestamp};

/// The data of a lock. Encoded as `[owner, until]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockState {
    /// The key that may open it.
    pub owner: PublicKey,
    /// The earliest time at which it can be opened.
    pub until: Timestamp,
}

primitives::record!(LockState { owner, until });

/// A command to the lock contract. Encoded as `[0]` or `[1]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockCommand {
    /// Makes locks.
    Lock,
    /// Opens locks after their times; their owners sign.
    Open,
}

primitives::variants!(LockCommand { 0 => Lock, 1 => Open });
