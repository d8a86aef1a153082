//! The codes of this crate: a rejection is a valid answer, with a stable code.

use primitives::ErrorInfo;
use thiserror::Error;

macro_rules! catalogue {
    ($($code:literal: $cause:literal => $action:literal;)*) => {
        &[$(ErrorInfo { code: $code, cause: $cause, action: $action }),*]
    };
}

/// A valid answer that says no.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{code}: {detail}")]
pub struct Rejection {
    /// A code of [`ERRORS`].
    pub code: &'static str,
    /// What is wrong in this case: numbers, names.
    pub detail: String,
}

impl Rejection {
    /// A rejection with a code of [`ERRORS`].
    #[must_use]
    pub fn new(code: &'static str, detail: impl Into<String>) -> Self {
        debug_assert!(ERRORS.iter().any(|info| info.code == code), "{code}");
        Self {
            code,
            detail: detail.into(),
        }
    }
}

/// What to do about a code of this crate.
#[must_use]
pub fn action_of(code: &str) -> &'static str {
    ErrorInfo::action_of(ERRORS, code)
}

/// The codes of this crate, sorted.
pub const ERRORS: &[ErrorInfo] = catalogue! {
    "chain.store_damaged": "A row of the chain's store makes no sense." => "run 'tally chain check' on the store; restore a snapshot or let the node sync anew";
    "chain_block.malformed": "The bytes of a block do not decode." => "encode it as docs/formats describes; check that both sides speak the same version";
    "chain_message.malformed": "The bytes of a message between nodes of a chain do not decode." => "encode it as docs/formats/chain-messages.md describes; check that both sides speak the same version";
    "chain_tx.malformed": "The bytes of a chain transaction do not decode." => "encode it as docs/formats describes: 149 bytes and the extension that its kind has";
    "chain_tx.unknown_kind": "A chain transaction is of a kind, or of a version, that is not known here." => "use a kind that this network's version has; upgrade the node if the network has moved on";
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_sorted_unique_and_complete() {
        for pair in ERRORS.windows(2) {
            assert!(pair[0].code < pair[1].code, "{}", pair[1].code);
        }
        assert!(
            ERRORS
                .iter()
                .all(|info| !info.cause.is_empty() && !info.action.is_empty())
        );
    }
}
