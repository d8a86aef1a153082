//! Whose fault it is that a transaction cannot be recorded here and now: its own, or this node's.
//!
//! A refusal of a delivery is final: the sender forgets the delivery. So only a fault that every honest node will always find may
//! refuse one. A fault that depends on this node's parameters, programs, keys, data or limits leaves the delivery without an
//! answer. The sender repeats it, and is told the reason meanwhile.
//!
//! The matches name every variant: a new error has to be classified before it compiles.

use ledger::{Rejection, SignatureError};

/// Why a transaction is not recorded.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    /// Every honest node will always find it wrong.
    Final(Rejection),
    /// This node cannot take it as it is now.
    Local(Rejection),
    /// This node's program lacks code that the transaction names.
    Program(Rejection),
}

impl Fault {
    /// Returns the reason, regardless of whose fault it is.
    pub(crate) fn rejection(self) -> Rejection {
        match self {
            Fault::Final(rejection) | Fault::Local(rejection) | Fault::Program(rejection) => {
                rejection
            }
        }
    }

    /// Returns the same kind of fault with another reason, for an ancestor.
    pub(crate) fn map(self, tell: impl FnOnce(Rejection) -> Rejection) -> Self {
        match self {
            Fault::Final(rejection) => Fault::Final(tell(rejection)),
            Fault::Local(rejection) => Fault::Local(tell(rejection)),
            Fault::Program(rejection) => Fault::Program(tell(rejection)),
        }
    }
}

/// Signatures are judged by the transaction alone.
impl From<SignatureError> for Fault {
    fn from(error: SignatureError) -> Self {
        let rejection = Rejection::of(&error);
        match error {
            SignatureError::Missing { .. }
            | SignatureError::Superfluous { .. }
            | SignatureError::Bad { .. }
            | SignatureError::BatchNotByNotary { .. }
            | SignatureError::BatchProof(_) => Fault::Final(rejection),
        }
    }
}
