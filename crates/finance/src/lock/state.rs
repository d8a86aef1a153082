//! A lock, and what a transaction may do with it.

use primitives::{PublicKey, Timestamp};

/// The data of a lock. Encoded as `[owner, until]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockState {
    /// Who may open it.
    pub owner: PublicKey,
    /// From when on.
    pub until: Timestamp,
}

primitives::record!(LockState { owner, until });

/// A command to the lock contract. Encoded as `[0]` or `[1]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockCommand {
    /// Makes locks.
    Lock,
    /// Opens locks; their owners sign, from their times on.
    Open,
}

primitives::variants!(LockCommand { 0 => Lock, 1 => Open });
