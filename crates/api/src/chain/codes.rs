//! The codes of the chain node's API itself, in addition to those of [`crate::codes`]. The chain has its own codes.

use crate::error_info::ErrorInfo;

crate::error_info::codes! {
    /// No such block.
    UNKNOWN_BLOCK = "chain_api.unknown_block" 404
        "The main chain has no block with this height or hash."
        "Check the height or the hash. Blocks of other branches are not kept.";
    /// No such transaction.
    UNKNOWN_TRANSACTION = "chain_api.unknown_transaction" 404
        "No transaction with this id is in a block or in the pool, and none that left the pool lately has it."
        "Check the id. Ask the node that the transaction was submitted to, or submit the same bytes again, which does no harm.";
    /// No such chain.
    UNKNOWN_CHAIN = "chain_api.unknown_chain" 422
        "The network has no chain with this number."
        "Read the network's chains: GET /v1/chain/constants.";
    /// The account does not forge or bundle here.
    NOT_RUNNING = "chain_api.not_running" 404
        "This account does not forge, or does not bundle this chain, on this node."
        "List who does: GET /v1/chain/forging and GET /v1/chain/bundlers, or 'tally chain forge' and 'tally chain bundle'.";
    /// No such peer.
    UNKNOWN_PEER = "chain_api.unknown_peer" 404
        "The node knows no peer with this key."
        "List the peers: GET /v1/chain/peers, or 'tally chain peers'.";
    /// The batch has no transactions, or too many.
    BAD_BATCH = "chain_api.bad_batch" 422
        "A batch holds no transactions, or more than the node takes at once."
        "Send 1 to 1,000 transactions in a batch.";
    /// Too many accounts at once.
    TOO_MANY_ACCOUNTS = "chain_api.too_many_accounts" 422
        "The request names too many accounts."
        "Name at most 100 accounts in one request.";
    /// A key, passphrase or account is invalid.
    BAD_KEY = "chain_api.bad_key" 422
        "A key or account does not parse, or a call that needs a secret names none or two."
        "Give keys and seeds as 64 hexadecimal digits, accounts as TLY-..., and either a seed or a passphrase.";
    /// The request is neither a payment nor a lease.
    BAD_PREPARE = "chain_api.bad_prepare" 422
        "The request to prepare names neither a payment nor a lease, or both."
        "Give an amount, or lease_blocks on the parent chain, and not both.";
    /// The node does not sign.
    SIGNING_OFF = "chain_api.signing_off" 403
        "This node does not sign for its clients, because a sent passphrase is known to the node's operator."
        "Sign where the key is: POST /v1/chain/prepare gives the bytes to sign. On a test network set api.allow_server_signing.";
    /// A client sent a passphrase over HTTP to a node of a production network.
    PASSPHRASE_REFUSED = "chain_api.passphrase_refused" 403
        "A passphrase was sent to a node of a production network: one whose genesis names no account by passphrase."
        "Sign locally: POST /v1/chain/prepare gives the bytes to sign. To forge or bundle, put the seed in a key file (forging.key_files, bundlers.key_file).";
    /// The body is pruned.
    PRUNED = "chain_api.pruned" 410
        "The body of this block was pruned on this node."
        "Ask a node that keeps all bodies. The status of this node contains the lowest height with a body.";
    /// The snapshot cannot be made.
    SNAPSHOT_FAILED = "chain_api.snapshot_failed" 422
        "The copy of the store failed: a copy of that name exists, the name is invalid, or the disk failed."
        "Choose a new name of letters, digits and dashes; read the node's log, check the space on its disk.";
    /// A state hash was asked for another height than the tip.
    NOT_THE_TIP = "chain_api.not_the_tip" 409
        "A state hash was asked for a height that is not the tip."
        "Ask without a height, or for the current tip. Earlier states are not kept.";
}
