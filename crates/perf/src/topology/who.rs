//! The processes of a network.

use std::fmt;

/// A process of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// The notary.
    Notary,
    /// A bank by position.
    Bank(usize),
    /// A further worker of a replicated notary, by position; [`Who::Notary`] is the first.
    Worker(usize),
}

impl fmt::Display for Who {
    /// Writes the name used in results and scenarios: `notary`, `bank-1`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Who::Notary => out.write_str("notary"),
            Who::Bank(at) => write!(out, "bank-{}", at + 1),
            Who::Worker(at) => write!(out, "notary-{}", at + 2),
        }
    }
}
