//! Why a unit did not complete.

use client::ClientError;

/// A unit that did not complete.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {message}")]
pub struct Fault {
    /// A stable code.
    pub code: String,
    /// A message for people.
    pub message: String,
}

impl Fault {
    /// Creates a fault.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            message: message.into(),
        }
    }
}

impl From<ClientError> for Fault {
    fn from(error: ClientError) -> Self {
        Self::new(error.code(), error.to_string())
    }
}
