//! Transactions, and submitting them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{OptionalQuantityInput, OptionalQuantityText, QuantityText, SecretText};

/// Maximum number of transactions in one batch.
pub const SUBMIT_BATCH_MAX: usize = 1_000;

/// The kind of a transaction.
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
    /// The chain of the token that it moves and pays its fee in.
    pub chain: u8,
    /// Its kind.
    pub kind: TransactionKind,
    /// The sender's account.
    pub sender: String,
    /// The sender's key.
    pub sender_key: String,
    /// A payment's or a lease's recipient.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recipient: Option<String>,
    /// A payment's amount, in minor units of the chain's token.
    #[serde(
        default,
        with = "OptionalQuantityText",
        skip_serializing_if = "Option::is_none"
    )]
    pub amount: Option<u64>,
    /// The fee, in minor units of the chain's token.
    #[serde(with = "QuantityText")]
    pub fee: u64,
    /// The time at which it was made, in seconds since genesis.
    pub time: u32,
    /// The last second since genesis at which a block may include it.
    pub expires: u32,
    /// The height of the block that it refers to.
    pub anchor_height: u32,
    /// The first eight bytes of that block's hash.
    pub anchor_id: String,
    /// A payment's message, if it is text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// A payment's message, if it is not text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_hex: Option<String>,
    /// A lease's length in blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_blocks: Option<u32>,
    /// The chain whose transactions a child block carries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_chain: Option<u8>,
    /// The number of transactions that the child block carries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_count: Option<u32>,
    /// The signature.
    pub signature: String,
}

/// The state of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TransactionState {
    /// In a block of the main chain.
    Confirmed,
    /// In the pool.
    Unconfirmed,
    /// Gone from the pool without a block.
    Left,
}

/// The answer about a transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TransactionAnswer {
    /// Its full id.
    pub id: String,
    /// Its state.
    pub state: TransactionState,
    /// The transaction; left out if its block's body is pruned, and if it has left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transaction: Option<TransactionView>,
    /// The encoded transaction in hexadecimal, if the transaction is present.
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
    /// The number of blocks after that one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmations: Option<u32>,
    /// The reason why it left: a code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The time at which it left, in seconds since genesis.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_at: Option<u32>,
}

/// A transaction and its position in the chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlacedTransaction {
    /// The block's height.
    pub height: u32,
    /// Bytes before it in the block's body.
    pub offset: u32,
    /// The number of blocks after that one.
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
    /// Give it as `before` (of an account's) or `after` (of a block's) for the next page; left out on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A page of the pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnconfirmedPage {
    /// The transactions, ordered by id and so by the time at which they were made. If few match the query, a page may end before
    /// it is full, or be empty.
    pub transactions: Vec<TransactionView>,
    /// Give it as `after` for the next page; left out on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// The number of all transactions in the pool, independent of the query.
    pub count: u64,
    /// Their total bytes.
    pub bytes: u64,
}

/// A signed transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Submit {
    /// Its bytes, signature included, as hexadecimal text.
    pub transaction: String,
}

/// A transaction is durably in the pool and is sent to the peers. It may have been there before, or may already be in a block.
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

/// The reason why one of a batch was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ItemRefusal {
    /// The stable code, `domain.snake_case`.
    pub code: String,
    /// The fault of this transaction.
    pub detail: String,
    /// The delay before a retry, if a retry makes sense.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

/// The result for one transaction of a batch: an id, or an error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubmitAnswer {
    /// The transaction's full id, if it is in the pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The error, if it is not in the pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ItemRefusal>,
}

/// The results of a batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubmitBatchAnswer {
    /// The results, in the order of the transactions.
    pub answers: Vec<SubmitAnswer>,
}

/// A payment or a lease to prepare for signing.
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
    /// The amount of a payment, in minor units.
    #[serde(
        default,
        with = "OptionalQuantityInput",
        skip_serializing_if = "Option::is_none"
    )]
    pub amount: Option<u64>,
    /// The length of a lease in blocks, in place of an amount.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_blocks: Option<u32>,
    /// A message that is public.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The fee. If left out, the minimum of the parent chain, or on a child chain the fee of the cheapest bundler that has
    /// bundled at its rate lately or holds stake.
    #[serde(
        default,
        with = "OptionalQuantityInput",
        skip_serializing_if = "Option::is_none"
    )]
    pub fee: Option<u64>,
    /// The deadline for its block, in minutes from now. If left out, an hour, or the maximum if that is shorter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_minutes: Option<u16>,
}

/// A transaction ready to be signed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Prepared {
    /// Its bytes without the signature. Append the 64 bytes of the signature and submit.
    pub unsigned: String,
    /// The bytes that the sender's Ed25519 key has to sign.
    pub to_sign: String,
    /// Its id, which does not depend on the signature.
    pub id: String,
    /// The transaction, with a zero signature.
    pub transaction: TransactionView,
    /// The bundler whose rate the fee meets. Left out if the request gave the fee, on the parent chain, and if no bundler's offer for
    /// the chain is usable. In the last case the fee is an estimate: one whole child token for each whole parent token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bundler: Option<String>,
}

/// Prepares, signs and submits in one request. For test networks, because the node sees the secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SignAndSend {
    /// The sender's passphrase.
    #[schemars(length(max = 1000))]
    pub passphrase: SecretText,
    /// The chain; the parent's if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chain: Option<u8>,
    /// The recipient's account.
    pub recipient: String,
    /// The amount of a payment, in minor units.
    #[serde(
        default,
        with = "OptionalQuantityInput",
        skip_serializing_if = "Option::is_none"
    )]
    pub amount: Option<u64>,
    /// The length of a lease in blocks, in place of an amount.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_blocks: Option<u32>,
    /// A message that is public.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The fee, as in [`Prepare`].
    #[serde(
        default,
        with = "OptionalQuantityInput",
        skip_serializing_if = "Option::is_none"
    )]
    pub fee: Option<u64>,
    /// The deadline, as in [`Prepare`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_minutes: Option<u16>,
}
