//! Why a lock is refused.

use ledger::ContractRejection;
use primitives::{Coded, DecodeError, ErrorInfo};
use thiserror::Error;

use crate::ERRORS;

/// Why a lock is refused, by the contract and by the flows.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LockError {
    /// A state's data is not a lock.
    #[error("a state's data is not a lock: {0}")]
    State(DecodeError),
    /// A command's value is not one of the contract's.
    #[error("a command's value is not one of the lock contract's: {0}")]
    Command(DecodeError),
    /// Two commands for the same, or one that nothing calls for, or none.
    #[error("the commands are not what the locks made and opened call for")]
    Commands,
    /// A lock that locks nothing.
    #[error("a lock is bound to no other state")]
    Unbound,
    /// Opened without proof that it is time.
    #[error("a lock is opened by a transaction whose time window begins before the lock's time")]
    TooEarly,
    /// An owner does not sign.
    #[error("a lock is opened and its owner is no signer of that")]
    OwnerMustSign,
    /// No lock with cash that this node owns.
    #[error("there is no lock of this node with cash at that place")]
    NotALock,
}

impl Coded for LockError {
    fn code(&self) -> &'static str {
        match self {
            LockError::State(_) => "lock.state_malformed",
            LockError::Command(_) => "lock.command_malformed",
            LockError::Commands => "lock.commands_mismatched",
            LockError::Unbound => "lock.unbound",
            LockError::TooEarly => "lock.too_early",
            LockError::OwnerMustSign => "lock.owner_must_sign",
            LockError::NotALock => "lock.not_a_lock",
        }
    }

    fn hint(&self) -> &'static str {
        ErrorInfo::action_of(ERRORS, self.code())
    }
}

impl From<LockError> for ContractRejection {
    fn from(error: LockError) -> Self {
        ContractRejection::new(error.code(), error.to_string())
    }
}
