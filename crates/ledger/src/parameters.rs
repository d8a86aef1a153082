//! Network parameters: the rules that all nodes of a network share.

use primitives::{Decode, DecodeError, Decoder, Domain, Encode, Encoder, Hash, Timestamp};

use crate::Party;
use crate::limits::NOTARIES_MAX;

/// The rules of a network.
///
/// Encoded as `[version, [notary, ...], max message bytes, max transaction bytes, max attachment bytes, max
/// attachment bytes of a transaction, allow always-accept, issued at]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkParameters {
    /// Grows with every change.
    pub version: u32,
    /// The notaries that transactions may name, at most 100. The first one is the default.
    pub notaries: Vec<Party>,
    /// Maximum bytes of one message between nodes.
    pub max_message_bytes: u64,
    /// Maximum bytes of a transaction.
    pub max_transaction_bytes: u64,
    /// Maximum bytes of an attachment.
    pub max_attachment_bytes: u64,
    /// Maximum bytes of all attachments that one transaction lists.
    pub max_transaction_attachment_bytes: u64,
    /// Whether states may be constrained by nothing at all; for tests.
    pub allow_always_accept: bool,
    /// When they were issued.
    pub issued_at: Timestamp,
}

impl NetworkParameters {
    /// Parameters with usual limits: messages and transactions of 10 MiB, attachments of 500 MiB, alone and
    /// together.
    pub fn new(notaries: Vec<Party>, issued_at: Timestamp) -> Self {
        Self {
            version: 1,
            notaries,
            max_message_bytes: 10 * 1024 * 1024,
            max_transaction_bytes: 10 * 1024 * 1024,
            max_attachment_bytes: 500 * 1024 * 1024,
            max_transaction_attachment_bytes: 500 * 1024 * 1024,
            allow_always_accept: false,
            issued_at,
        }
    }

    /// Returns the hash that names these parameters in transactions: `Hash::of(Document, [encoding])`.
    pub fn hash(&self) -> Hash {
        Hash::of(Domain::Document, &[&self.to_bytes()])
    }
}

impl Encode for NetworkParameters {
    fn encode(&self, e: &mut Encoder) {
        e.array(8);
        self.version.encode(e);
        self.notaries.encode(e);
        self.max_message_bytes.encode(e);
        self.max_transaction_bytes.encode(e);
        self.max_attachment_bytes.encode(e);
        self.max_transaction_attachment_bytes.encode(e);
        self.allow_always_accept.encode(e);
        self.issued_at.encode(e);
    }
}

impl Decode for NetworkParameters {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.expect_array(8)?;
        Ok(Self {
            version: d.u32()?,
            notaries: d.vec_of(NOTARIES_MAX)?,
            max_message_bytes: d.u64()?,
            max_transaction_bytes: d.u64()?,
            max_attachment_bytes: d.u64()?,
            max_transaction_attachment_bytes: d.u64()?,
            allow_always_accept: d.bool()?,
            issued_at: Timestamp::decode(d)?,
        })
    }
}
