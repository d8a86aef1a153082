//! A payment in the fake, and its bytes.

use primitives::Hash;

use super::names::{self, account_of_key};
use crate::chain::{ChainId, TxKey};

/// A payment. As in the family, all of its fields decide its key, and nothing else does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paid {
    pub chain: ChainId,
    /// The payer's account id.
    pub from: String,
    /// The payer's public key.
    pub from_key: String,
    pub to: String,
    pub amount: u64,
    pub fee: u64,
    pub deadline: u64,
    /// When it was made, seconds since the chain's beginning.
    pub timestamp: u64,
}

impl Paid {
    /// Returns the bytes without a signature, in hexadecimal.
    pub fn unsigned(&self) -> String {
        self.bytes("")
    }

    /// Returns the bytes with the signature, in hexadecimal.
    pub fn signed(&self) -> String {
        self.bytes(&self.signature())
    }

    fn bytes(&self, signature: &str) -> String {
        let fields = serde_json::json!([
            self.chain.0,
            self.from_key,
            self.to,
            self.amount,
            self.fee,
            self.deadline,
            self.timestamp,
            signature
        ]);
        primitives::hex::encode(fields.to_string().as_bytes())
    }

    /// Reads bytes. Returns the payment, and whether they carry its signature.
    pub fn read(bytes: &str) -> Option<(Self, bool)> {
        let bytes = primitives::hex::decode(bytes)?;
        let fields = serde_json::from_slice(&bytes).ok()?;
        let (chain, from_key, to, amount, fee, deadline, timestamp, signature): (
            u8,
            String,
            String,
            u64,
            u64,
            u64,
            u64,
            String,
        ) = fields;
        let paid = Self {
            chain: ChainId(chain),
            from: account_of_key(&from_key)?,
            from_key,
            to,
            amount,
            fee,
            deadline,
            timestamp,
        };
        let is_signed = signature == paid.signature();
        Some((paid, is_signed))
    }

    /// Returns its signature, 64 bytes in hexadecimal. In this fake it is a hash that anyone can make.
    pub fn signature(&self) -> String {
        let unsigned = self.unsigned();
        let half = |name: &str| names::hash(&format!("{name}{unsigned}"));
        half("first half of ") + &half("second half of ")
    }

    /// Returns its full hash.
    pub fn key(&self) -> TxKey {
        TxKey(*Hash::plain(self.signed().as_bytes()).as_bytes())
    }
}
