//! Transactions of the chain: their contents, encoding and ids.
//!
//! Every transaction has the same 149 bytes (`docs/formats/chain.md`), big-endian. Only some kinds have an extension:
//!
//! ```text
//! version 1 | kind 1 | chain 1 | time 4 | deadline 2 | sender 32 | recipient 16 | amount 8 | fee 8 | anchor height 4 | anchor id 8
//! [ extension length 2 | extension ]        where the kind's high bit is set
//! signature 64                              last
//! ```
//!
//! The *unsigned bytes* are all bytes except the signature. Id and signature are over `H(chain transaction, genesis | unsigned
//! bytes)`. A copy with another signature is therefore the same transaction, and a transaction is valid in one network only.

mod bytes;
mod carried;
mod contents;

pub use bytes::{EXTENSION_BYTES_MAX, PAYMENT_BYTES, read, read_exact};
pub use carried::Carried;
pub use contents::{Anchor, Body, Transaction, TxId};
