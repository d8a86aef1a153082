//! The faults of bodies and of blocks that do not join the chain.

/// The fault of a body that a peer sent.
pub(in crate::core) enum BodyFault {
    /// The body does not belong to the block. The sender is to blame, and the block may be good.
    Sender(&'static str),
    /// The block breaks a rule. Its hash is remembered.
    Block(&'static str),
}

/// The reason why a block did not join the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::core) enum NotApplied {
    /// It does not follow the tip. It may be good elsewhere.
    NotNext,
    /// The body does not belong to the header. The sender is to blame, and the block may be good.
    Body(&'static str),
    /// It breaks a rule. Its hash is remembered.
    Invalid(&'static str),
}

impl NotApplied {
    /// Returns the code of the sender's fault, if it has one.
    pub(in crate::core) fn code(self) -> Option<&'static str> {
        match self {
            Self::NotNext => None,
            Self::Body(code) | Self::Invalid(code) => Some(code),
        }
    }
}
