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
    "chain_forge.wrong_key": "A key that is to forge or bundle is no Ed25519 key." => "use the key of an account: accounts have Ed25519 keys";
    "chain_message.malformed": "The bytes of a message between nodes of a chain do not decode." => "encode it as docs/formats/chain-messages.md describes; check that both sides speak the same version";
    "chain_pool.anchor_lost": "A waiting transaction refers to a block that is no longer on the chain." => "make and sign it anew, with a block of the chain as it is now";
    "chain_pool.child_blocks_full": "As many child blocks of this bundler or chain wait as a node keeps, and this one pays no more." => "let the bundler wait for the next block, or pay more; see the settings of the pool";
    "chain_pool.cleared": "An operator of the node has emptied its pool." => "submit the transaction again, here or at another node";
    "chain_pool.evicted": "The pool was full, and others paid more for each byte." => "submit it again with a higher fee, or later";
    "chain_pool.expired": "A transaction's deadline was over before it was in a block." => "make it anew, with a longer deadline or a higher fee; check the clocks";
    "chain_pool.full": "The node's pool is full, and the transaction pays no more for each byte than what waits there." => "pay the fee that the message names, or try again after the next blocks";
    "chain_pool.insufficient_balance": "The sender's confirmed balance does not cover the transaction, besides what else of it waits." => "wait until incoming payments are in a block, or spend less; another transaction of the account may have spent the balance";
    "chain_pool.known": "The transaction waits here already." => "nothing: ask for its status by its id";
    "chain_pool.sender_full": "The sender has as many transactions waiting as one account may have." => "wait for the next blocks; spread the load over more accounts, or raise per_sender_max of the node's pool";
    "chain_pool.superseded": "A child block was overtaken: what it carries is in a block, or a better one took its place." => "nothing: bundlers make another for what is left";
    "chain_pool.wrong_list": "The list of ids that came with a child block is not the one that it commits to." => "the sender's mistake: ask another peer for the list";
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
