//! The reasons why an operation was not done.

use thiserror::Error;

use crate::Rejection;
use crate::port::StoreFailure;

/// A refused request to the state, or a failure of the store.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Fault {
    /// The request was refused.
    #[error(transparent)]
    Refused(#[from] Rejection),
    /// A header does not follow the block that it was checked against. The order of the calls is wrong, not the header.
    #[error(transparent)]
    NotNext(Rejection),
    /// The transaction is already in a block.
    #[error(transparent)]
    InBlock(Rejection),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreFailure),
}

impl Fault {
    pub(super) fn refused(code: &'static str, detail: impl Into<String>) -> Self {
        Self::Refused(Rejection::new(code, detail))
    }

    pub(super) fn not_next(detail: impl Into<String>) -> Self {
        Self::NotNext(Rejection::new("chain_block.not_next", detail))
    }

    /// Returns the rejection with its code, or the failure of the store.
    pub fn rejection(self) -> Result<Rejection, StoreFailure> {
        match self {
            Self::Refused(rejection) | Self::NotNext(rejection) | Self::InBlock(rejection) => {
                Ok(rejection)
            }
            Self::Store(failure) => Err(failure),
        }
    }
}

/// The reason why a block was not applied. The state is unchanged.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BlockFault {
    /// It does not follow the tip. The caller's order is wrong, not the block.
    #[error("the block does not follow the tip")]
    NotNext,
    /// The body does not match the header's commitment. The sender is to blame, and the block may be good.
    #[error(transparent)]
    Body(Rejection),
    /// The block breaks a rule, regardless of its sender. Its hash may be remembered as bad.
    #[error(transparent)]
    Invalid(Rejection),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreFailure),
}

impl BlockFault {
    pub(super) fn invalid(code: &'static str, detail: impl Into<String>) -> Self {
        Self::Invalid(Rejection::new(code, detail))
    }

    pub(super) fn body(code: &'static str, detail: impl Into<String>) -> Self {
        Self::Body(Rejection::new(code, detail))
    }
}

impl From<Fault> for BlockFault {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::NotNext(_) => Self::NotNext,
            Fault::Refused(rejection) | Fault::InBlock(rejection) => Self::Invalid(rejection),
            Fault::Store(failure) => Self::Store(failure),
        }
    }
}
