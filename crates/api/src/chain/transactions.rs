//! Transactions, and submitting them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Transactions in one batch at most.
pub const SUBMIT_BATCH_MAX: usize = 1_000;

/// What a transaction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TransactionKind {
    /// Moves an amount of the chain's token.
    Payment,
    /// Lends the sender's effective balance for forging.
    Lease,
    /// Carries transactions of one child chain.
    ChildBlock,
}

/// A transaction, readable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TransactionView {
    /// Its full id.
    pub id: String,
    /// The chain whose token it moves and its fee is in.
    pub chain: u8,
    /// What it does.
    pub kind: TransactionKind,
    /// The sender's account.
    pub sender: String,
    /// The sender's key.
    pub sender_key: String,
    /// A payment's or a lease's recipient.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recipient: Option<String>,
    /// A payment's amount, in minor units of the chain's token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amount: Option<u64>,
    /// The fee, in minor units of the chain's token.
    pub fee: u64,
    /// When it was made, in seconds since genesis.
    pub time: u32,
    /// The last second since genesis at which it may stand in a block.
    pub expires: u32,
    /// The height of the block that it refers to.
    pub anchor_height: u32,
    /// The first eight bytes of that block's hash.
    pub anchor_id: String,
    /// A payment's message, where it is text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// A payment's message, where it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_hex: Option<String>,
    /// A lease's length in blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_blocks: Option<u32>,
    /// The chain whose transactions a child block carries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_chain: Option<u8>,
    /// How many it carries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_count: Option<u32>,
    /// The signature.
    pub signature: String,
}

/// Where a transaction stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TransactionState {
    /// In a block of the main chain.
    Confirmed,
    /// In the pool.
    Unconfirmed,
    /// It left the pool without being in a block.
    Left,
}

/// What is known of a transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TransactionAnswer {
    /// Its full id.
    pub id: String,
    /// Where it stands.
    pub state: TransactionState,
    /// The transaction; left out where its block's body is pruned, and where it has left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transaction: Option<TransactionView>,
    /// Its bytes as it is carried, where the transaction is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<String>,
    /// The block's height.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub height: Option<u32>,
    /// The block's hash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<String>,
    /// Bytes before it in the block's body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u32>,
    /// Blocks after that one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmations: Option<u32>,
    /// Why it left: a code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When it left, in seconds since genesis.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_at: Option<u32>,
}

/// A transaction and its place in the chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlacedTransaction {
    /// The block's height.
    pub height: u32,
    /// Bytes before it in the block's body.
    pub offset: u32,
    /// Blocks after that one.
    pub confirmations: u32,
    /// The transaction.
    #[serde(flatten)]
    pub transaction: TransactionView,
}

/// A page of transactions in blocks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TransactionPage {
    /// The transactions.
    pub transactions: Vec<PlacedTransaction>,
    /// Give it as `before` (of an account's) or `after` (of a block's) for the next page; left out where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A page of the pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnconfirmedPage {
    /// By id, which is by the time when they were made. Where few meet what is asked for, a page ends before it is full, even empty.
    pub transactions: Vec<TransactionView>,
    /// Give it as `after` for the next page; left out where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// Transactions in the pool, whatever was asked for.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// A signed transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Submit {
    /// Its bytes, signature included, as hexadecimal text.
    pub transaction: String,
}

/// A transaction is in the pool, durably, and goes to the peers. It may have been there before, or be in a block already.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Submitted {
    /// Its full id.
    pub id: String,
}

/// Signed transactions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubmitBatch {
    /// The bytes of each, signature included, as hexadecimal text.
    #[schemars(length(min = 1, max = 1000))]
    pub transactions: Vec<String>,
}

/// Why one of a batch was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ItemRefusal {
    /// Stable, `domain.snake_case`.
    pub code: String,
    /// What is wrong with this one.
    pub detail: String,
    /// When to try again, if that is the thing to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

/// What came of one of a batch: an id, or an error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubmitAnswer {
    /// Its full id, if it is in the pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Why it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ItemRefusal>,
}

/// What came of a batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubmitBatchAnswer {
    /// In the order of the transactions.
    pub answers: Vec<SubmitAnswer>,
}

/// A payment, or a lease, to be made ready for signing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Prepare {
    /// The chain; the parent's if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chain: Option<u8>,
    /// The sender's key.
    pub sender: String,
    /// The recipient's account.
    pub recipient: String,
    /// How much, in minor units; of a payment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amount: Option<u64>,
    /// For how many blocks; of a lease, which takes the place of an amount.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_blocks: Option<u32>,
    /// A message that everybody can read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The fee; if left out the least one of the parent chain, or on a child chain the fee that the cheapest bundler asks, of those that have bundled at their rate lately or hold stake.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fee: Option<u64>,
    /// Until when it may stand in a block, in minutes from now; if left out an hour, or the longest there is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_minutes: Option<u16>,
}

/// A transaction to be signed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Prepared {
    /// Its bytes without the signature: append 64 bytes of it and submit.
    pub unsigned: String,
    /// What the sender's Ed25519 key is to sign.
    pub to_sign: String,
    /// The id it has, whoever signs when.
    pub id: String,
    /// The transaction, its signature zero.
    pub transaction: TransactionView,
    /// The bundler whose rate the fee is enough for. Left out if the request gave the fee, on the parent chain, and if no bundler of the
    /// chain counts: then the fee is a guess, a whole child token for each whole parent token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bundler: Option<String>,
}

/// Prepare, sign and submit in one. For test networks: the node sees the secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SignAndSend {
    /// The sender's passphrase.
    #[schemars(length(max = 1000))]
    pub passphrase: String,
    /// The chain; the parent's if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chain: Option<u8>,
    /// The recipient's account.
    pub recipient: String,
    /// How much, in minor units; of a payment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amount: Option<u64>,
    /// For how many blocks; of a lease, which takes the place of an amount.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_blocks: Option<u32>,
    /// A message that everybody can read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The fee, as in [`Prepare`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fee: Option<u64>,
    /// The deadline, as in [`Prepare`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_minutes: Option<u16>,
}
