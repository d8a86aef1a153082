//! How a unit ended: well, or with a failure.

use client::ClientError;

use crate::load::Fault;

/// The statistics of a unit that ended well.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tried {
    /// Tries beyond the first. They are counted separately: a unit is one success, however often it was tried.
    pub retries: u32,
}
/// A failed operation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{fault}")]
pub struct Failed {
    /// A stable code and a message.
    pub fault: Fault,
    /// Tries beyond the first.
    pub retries: u32,
    /// Whether something may have begun whose end is unknown.
    pub begun: bool,
}

impl Failed {
    /// Creates a failure with this code.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self::from(Fault::new(code, message))
    }
}

impl From<Fault> for Failed {
    fn from(fault: Fault) -> Self {
        Self {
            fault,
            retries: 0,
            begun: false,
        }
    }
}

impl From<ClientError> for Failed {
    fn from(error: ClientError) -> Self {
        Self::from(Fault::from(error))
    }
}
