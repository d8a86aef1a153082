//! The error codes of this crate. A rejection is a valid answer with a stable code.

use primitives::ErrorInfo;
use thiserror::Error;

macro_rules! catalogue {
    ($($code:literal: $cause:literal => $action:literal;)*) => {
        &[$(ErrorInfo { code: $code, cause: $cause, action: $action }),*]
    };
}

/// A valid answer that refuses a request.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{code}: {detail}")]
pub struct Rejection {
    /// A code of [`ERRORS`].
    pub code: &'static str,
    /// The details of this case, such as numbers and names.
    pub detail: String,
}

impl Rejection {
    /// Returns a rejection with a code of [`ERRORS`].
    #[must_use]
    pub fn new(code: &'static str, detail: impl Into<String>) -> Self {
        // Not in products: peers can cause many rejections, and the list is long.
        debug_assert!(ERRORS.iter().any(|info| info.code == code), "{code}");
        Self {
            code,
            detail: detail.into(),
        }
    }
}

/// Returns the recommended action for a code of this crate.
#[must_use]
pub fn action_of(code: &str) -> &'static str {
    ErrorInfo::action_of(ERRORS, code)
}

/// The codes of this crate, sorted.
pub const ERRORS: &[ErrorInfo] = catalogue! {
    "chain.checkpoint_mismatch": "The stored chain has another block at the height of a trusted one (a checkpoint of the settings, or an operator's order): the node followed another branch." => "check the checkpoint against several sources that you trust; if it is right, restore a snapshot of that branch or start with an empty data folder (for a young fork: start without the checkpoint and order 'tally chain trust HEIGHT HASH')";
    "chain.store_beyond_repair": "The chain's store is damaged, and its intact rows are not enough to repair it." => "restore a snapshot with 'tally chain restore', or move the store's folder away and run 'tally chain init-store', after which the node synchronises with its peers; check the machine's disk and memory for the cause";
    "chain.store_damaged": "Rows of the chain's store are missing, invalid or contradict each other." => "stop the node and run 'tally chain check --repair' on its data folder; if the repair fails, restore a snapshot or let the node sync again";
    "chain.wrong_network": "The store belongs to another network: its genesis differs from the given one." => "use the genesis file that the store was made with, or an empty folder";
    "chain_block.base_target": "A block's base target differs from the one computed from earlier blocks." => "upgrade the node that computes it wrongly; docs/formats/chain.md has the rule";
    "chain_block.body_mismatch": "A block's body is not the one that its header commits to." => "fetch the body from another peer";
    "chain_block.child_blocks": "A block has two child blocks of one chain, or a child chain's transaction outside that chain's child block." => "upgrade the forger";
    "chain_block.counts": "The counts or the length in a block's header do not match its body." => "upgrade the forger";
    "chain_block.difficulty": "A block's cumulative difficulty differs from the one computed from earlier blocks." => "upgrade the node that computes it wrongly; docs/formats/chain.md has the rule";
    "chain_block.distrusted": "A block differs from the trusted block at its height." => "check the trusted blocks in the node's settings; if they are right, the peer is on another branch";
    "chain_block.equivocation_unproved": "Two headers do not prove that their forger signed two blocks on one parent." => "give two different signed headers with the same forger, parent and height, as exported by the node that noticed them";
    "chain_block.from_future": "A block's time is further ahead of this node's clock than the network allows." => "synchronise the clocks of both nodes with a time server; the block is accepted when its time comes";
    "chain_block.generation": "A block's generation signature is not the hash of the previous block's and the forger's key." => "upgrade the forger";
    "chain_block.malformed": "The bytes of a block do not decode." => "encode it as docs/formats describes; check that both sides use the same version";
    "chain_block.not_next": "A block does not follow the one that it was checked against." => "fetch the blocks between";
    "chain_block.order": "A block's transactions are not in ascending order of their ids, or one occurs twice." => "upgrade the forger";
    "chain_block.overdrawn": "A block's transactions take more from an account than it had before the block." => "upgrade the forger";
    "chain_block.signature": "A block's signature is not valid." => "sign it with the forger's key, for this network's genesis";
    "chain_block.stake": "A block's forger has too little effective balance to forge at this height." => "wait until the balance has been held long enough, or lease more to the account";
    "chain_block.time": "A block's time is not the second after its forger's hit." => "set the forger's clock, or upgrade the forger";
    "chain_block.too_deep": "Blocks at this depth can no longer be rolled back." => "restore a snapshot or let the node sync again";
    "chain_block.too_large": "A block has more transactions or more bytes than the network allows." => "upgrade the forger; check that it uses this network's genesis";
    "chain_forge.wrong_key": "A key for forging or bundling is not an Ed25519 key, or not the key of the header's forger." => "use the key of an account: accounts have Ed25519 keys";
    "chain_genesis.balances": "A balance in a genesis is zero, occurs twice, names no account, or is on a chain that does not exist." => "correct the balance that the message names";
    "chain_genesis.chains": "The chains of a genesis contradict each other, or the parent is missing." => "give each chain a number, a name and a symbol of its own; the parent is number 1";
    "chain_genesis.malformed": "The bytes of a genesis do not decode." => "make it again from its genesis file";
    "chain_genesis.name": "The name of a network or a chain, or a symbol, is empty, too long or not plain text." => "shorten it; use plain text";
    "chain_genesis.params": "A constant of a genesis breaks a rule, or no profile has the given name." => "set the constant that the message names by the rule that it gives";
    "chain_genesis.supply": "The supply of a token in a genesis is above the maximum, or the parent token's is too small to forge or too large for the block time." => "change the balances, or the token's decimals";
    "chain_history.accounts": "Too few accounts with a known passphrase have a balance on every chain, or none of them has enough stake to forge." => "make a history only for a test network whose genesis names its accounts by passphrases";
    "chain_history.no_time": "A history has reached the present: further blocks would lie in the future." => "begin the network earlier ('tally chain genesis --begun-before SECONDS'), put more payments into a block, or make fewer";
    "chain_message.malformed": "The bytes of a message between nodes of a chain do not decode." => "encode it as docs/formats/chain-messages.md describes; check that both sides use the same version";
    "chain_order.busy": "An operator's order cannot be carried out during a reorg or another order that rolls blocks back." => "repeat the order after a moment";
    "chain_order.no_such_block": "An operator's order names a height where there is no block." => "give a height between 1 and the tip's";
    "chain_peer.bad_branch": "A peer follows a branch with a block that breaks a rule." => "upgrade the node that applies the rule wrongly; the rule's code is in this node's figures";
    "chain_peer.empty_claim": "A peer claimed more difficulty than its headers have." => "nothing, if it happens rarely: the peer may have changed branch in between";
    "chain_peer.silent": "A peer did not answer in time." => "nothing, if it happens rarely; check the peer's load and the network";
    "chain_peer.too_deep": "A peer claims a better branch that forks off deeper than this node can ever roll back, or the stake of its forgers is unknown here. This node cannot check the claim and keeps its own branch." => "compare the tips of several nodes that you trust ('tally chain status'): if the network follows that branch, stop this node and restore a snapshot of the branch, or let the node sync again in an empty folder; if not, the peer is wrong";
    "chain_peer.useless": "A peer sent too many transactions or rates that were refused." => "check the messages that it forwards; if it continues, it is banned";
    "chain_peer.wrong_answer": "A peer's answer does not match the question." => "upgrade the node that deviates from docs/formats/chain-messages.md";
    "chain_pool.anchor_lost": "A waiting transaction refers to a block that is no longer on the chain." => "make and sign it again, with a block of the current chain as anchor";
    "chain_pool.child_blocks_full": "The node keeps its maximum of child blocks of this bundler or chain, and this one pays less or the same." => "let the bundler wait for the next block, or pay more; see the settings of the pool";
    "chain_pool.cleared": "An operator of the node has emptied its pool." => "submit the transaction again, here or at another node";
    "chain_pool.evicted": "The pool was full, and other transactions paid more per byte." => "submit it again with a higher fee, or later";
    "chain_pool.expired": "A transaction's deadline was over before it was in a block." => "make it again, with a longer deadline or a higher fee; check the clocks";
    "chain_pool.full": "The node's pool is full, and the transaction pays no more per byte than the waiting ones." => "pay the fee that the message names, or try again after the next blocks";
    "chain_pool.insufficient_balance": "The sender's confirmed balance does not cover the transaction in addition to its waiting ones." => "wait until incoming payments are in a block, or spend less; another transaction of the account may have spent the balance";
    "chain_pool.known": "The transaction is already in this node's pool." => "nothing: ask for its status by its id";
    "chain_pool.sender_full": "The sender has as many transactions waiting as one account may have." => "wait for the next blocks; spread the load over more accounts, or raise per_sender_max of the node's pool";
    "chain_pool.superseded": "A child block was superseded: its transactions are in a block, or a better child block replaced it." => "nothing: bundlers make another child block for the remaining transactions";
    "chain_pool.unpaid": "A child chain's transaction pays less than the lowest fee that the known bundlers ask." => "pay the fee that the refusal names; if a bundler carries it for less, submit it to that bundler's node";
    "chain_pool.wrong_list": "The list of ids that came with a child block does not match it, or is missing." => "ask another peer for the list; the sender's is wrong";
    "chain_rates.malformed": "The bytes of a bundler's rates do not decode." => "encode them as docs/formats/chain-messages.md describes; check that both sides use the same version";
    "chain_rates.no_means": "A bundler that announces rates has too few parent tokens to bundle anything." => "pay parent tokens to the bundler's account";
    "chain_rates.signature": "The signature of a bundler's rates is not valid." => "check that the bundler signs for this network's genesis; bundlers sign new rates every minute";
    "chain_rates.stale": "A bundler's rates are too old, or dated in the future." => "synchronise the clocks with a time server; bundlers announce their rates every minute";
    "chain_tx.amount": "A payment has neither amount nor message, or its amount and fee exceed the possible maximum." => "give an amount, or a message";
    "chain_tx.anchor_unknown": "The block that a transaction refers to is not on this branch." => "make the transaction again with an anchor from a node that follows the network";
    "chain_tx.anchor_young": "The anchor block of a transaction is not deep enough below the tip." => "choose an anchor as deep as the network requires; genesis is always deep enough";
    "chain_tx.child_block": "A child block carries no transactions, too many, or those of a chain that is not a child chain." => "upgrade the bundler";
    "chain_tx.deadline": "A transaction's deadline is zero or longer than the network allows." => "set a deadline within the network's limit";
    "chain_tx.duplicate": "A transaction is in a block already." => "nothing: the transaction has taken effect, and takes effect only once";
    "chain_tx.expired": "A transaction's deadline has passed." => "make the transaction again if it is still wanted";
    "chain_tx.fee": "A transaction's fee is below the network's minimum." => "raise the fee";
    "chain_tx.free": "A payment pays no fee and moves nothing to another account." => "give it a fee of at least one minor unit";
    "chain_tx.from_future": "A transaction's time is further ahead than the network allows." => "synchronise the clock of the machine that made it with a time server";
    "chain_tx.lease": "A lease is to the sender itself, or shorter or longer than the network allows." => "lease to another account, for a number of blocks within the limits";
    "chain_tx.malformed": "The bytes of a chain transaction do not decode." => "encode it as docs/formats describes: 149 bytes and the extension that its kind has";
    "chain_tx.message": "A transaction's message is longer than the network allows." => "shorten it";
    "chain_tx.signature": "A transaction's signature is not valid." => "sign it with the sender's key, for this network's genesis";
    "chain_tx.unknown_chain": "There is no such chain in this network, or it does not allow such a transaction." => "use a chain that the genesis lists; leases and child blocks are allowed on the parent chain only";
    "chain_tx.unknown_kind": "A chain transaction has an unknown kind or version." => "use a kind that this network's version has; upgrade the node if the network has moved on";
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
