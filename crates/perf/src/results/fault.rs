//! Failures, counted by code.

use serde::{Deserialize, Serialize};

/// Failures of one code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// The code.
    pub code: String,
    /// The number.
    pub count: u64,
    /// One of them in words.
    pub message: String,
}
