//! Why something was not done.

use thiserror::Error;

use crate::Rejection;
use crate::port::StoreFailure;

/// A question to the state was answered with no, or could not be answered.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Fault {
    /// No.
    #[error(transparent)]
    Refused(#[from] Rejection),
    /// The store failed: nobody's fault.
    #[error(transparent)]
    Store(#[from] StoreFailure),
}

impl Fault {
    pub(super) fn refused(code: &'static str, detail: impl Into<String>) -> Self {
        Self::Refused(Rejection::new(code, detail))
    }
}

/// Why a block was not applied. The state is as before.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BlockFault {
    /// It does not follow the tip: the caller's order is wrong, not the block.
    #[error("the block does not follow the tip")]
    NotNext,
    /// The body is not the one that the header commits to: the fault of whoever sent it, the block may be good.
    #[error(transparent)]
    Body(Rejection),
    /// The block breaks a rule, whoever sends it: its hash may be remembered as bad.
    #[error(transparent)]
    Invalid(Rejection),
    /// The store failed: nobody's fault.
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
            Fault::Refused(rejection) if rejection.code == "chain_block.not_next" => Self::NotNext,
            Fault::Refused(rejection) => Self::Invalid(rejection),
            Fault::Store(failure) => Self::Store(failure),
        }
    }
}
