//! Reasons for refusing a lock.

use ledger::ContractRejection;
use primitives::{Coded, DecodeError, ErrorInfo};
use thiserror::Error;

use crate::ERRORS;

/// A reason why the contract or a flow refuses a lock.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LockError {
    /// A state's data is not a lock.
    #[error("a state's data is not a lock: {0}")]
    State(DecodeError),
    /// A command's value is not a command of the contract.
    #[error("a command's value is not one of the lock contract's: {0}")]
    Command(DecodeError),
    /// Two commands do the same, a command has no lock to act on, or a lock has no command.
    #[error("the commands do not match the locks made and opened")]
    Commands,
    /// A lock is bound to no other state.
    #[error("a lock is bound to no other state")]
    Unbound,
    /// The time window does not prove that the lock's time has passed.
    #[error("a lock is opened by a transaction whose time window begins before the lock's time")]
    TooEarly,
    /// An owner does not sign.
    #[error("a lock is opened and its owner is no signer of that")]
    OwnerMustSign,
    /// The ring is not one lock with cash that this node owns.
    #[error("there is no lock of this node with cash at that place")]
    NotALock,
    /// The time of a lock lies beyond the calendar, as microseconds given for milliseconds do.
    #[error("the lock's time, {0} ms since 1970, is after the year 9999")]
    TooFar(u64),
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
            LockError::TooFar(_) => "lock.too_far",
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
