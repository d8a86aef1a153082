//! Why there is no answer.

use primitives::{Coded, ErrorInfo};
use thiserror::Error;

/// Minimum number of stretches for a line with a useful interval.
pub(super) const STRETCHES_MIN: usize = 6;

/// The codes of sizing.
pub const ERRORS: &[ErrorInfo] = &[ErrorInfo {
    code: "lab.nothing_to_size",
    cause: "A run to size from measured too little: fewer than six stretches with work done and processes watched.",
    action: "Read the faults that the run reports; give the stretches more time with --seconds.",
}];

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "{stretches} stretches with work done and processes watched; at least {STRETCHES_MIN} are needed"
)]
pub struct SizeError {
    /// The number of stretches.
    pub stretches: usize,
}

impl Coded for SizeError {
    fn code(&self) -> &'static str {
        "lab.nothing_to_size"
    }

    fn hint(&self) -> &'static str {
        ErrorInfo::action_of(ERRORS, self.code())
    }
}
