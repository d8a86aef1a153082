//! Errors of keys: malformed keys, and unsupported operations.

use crate::{Coded, ERRORS, ErrorInfo};

/// Reasons why bytes or a text are not a public key, or why a composite key is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Bytes or text that are not a public key.
    #[error("not a public key; give a scheme, a colon and hexadecimal bytes")]
    Malformed,
    /// A composite key breaks a rule.
    #[error("composite key refused: {0}")]
    Composite(&'static str),
}

impl Coded for KeyError {
    fn code(&self) -> &'static str {
        match self {
            Self::Malformed => "key.malformed",
            Self::Composite(_) => "key.composite",
        }
    }

    fn hint(&self) -> &'static str {
        ErrorInfo::action_of(ERRORS, self.code())
    }
}
