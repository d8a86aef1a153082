//! Transactions with signatures.

use std::collections::BTreeSet;

use primitives::{Decode, DecodeError, Decoder, Encode, Encoder, KeyPair, PublicKey};

use crate::limits::SIGNATURES_MAX;
use crate::{StructureError, TransactionSignature, TxId, WireTransaction};

/// A transaction and the signatures gathered so far, at most one of each kind by each key. The kinds are signatures on the
/// transaction alone, which parties give, and on a batch, which notaries give. A notary that is also a party to the transaction
/// gives both. The signatures are not checked yet: see [`check_signatures`](SignedTransaction::check_signatures).
///
/// Encoded as `[transaction, [signature, ...]]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedTransaction {
    wire: WireTransaction,
    signatures: Vec<TransactionSignature>,
}

impl SignedTransaction {
    /// Combines a transaction and signatures. If a key has several signatures of one kind (alone or in a batch), the last is
    /// kept.
    pub fn new(
        wire: WireTransaction,
        signatures: impl IntoIterator<Item = TransactionSignature>,
    ) -> Self {
        let mut signed = Self {
            wire,
            signatures: Vec::new(),
        };
        for signature in signatures {
            signed.add(signature);
        }
        signed
    }

    /// Decodes a transaction from the whole input. Unlike the error of `from_bytes`, the error names the rule that the
    /// transaction breaks.
    pub fn parse(bytes: &[u8]) -> Result<Self, StructureError> {
        let mut d = Decoder::new(bytes);
        d.expect_array(2)?;
        let mut rest = d.clone();
        let wire = WireTransaction::parse(rest.raw()?)?;
        let signatures = read_signatures(&mut rest)?;
        rest.finish()?;
        Ok(Self { wire, signatures })
    }

    /// Returns the id of the transaction.
    pub fn id(&self) -> TxId {
        self.wire.id()
    }

    /// Returns the transaction.
    pub fn wire(&self) -> &WireTransaction {
        &self.wire
    }

    /// Returns the signatures.
    pub fn signatures(&self) -> &[TransactionSignature] {
        &self.signatures
    }

    /// Returns the bytes that the transaction takes in memory, roughly: its components, and its signatures with their batch proofs.
    pub fn weight(&self) -> usize {
        let signatures = self.signatures.iter().map(TransactionSignature::weight);
        self.wire.bytes().len() + signatures.sum::<usize>()
    }

    /// Adds a signature, or replaces the one of the same kind by the same key.
    pub fn add(&mut self, signature: TransactionSignature) {
        match self
            .signatures
            .iter_mut()
            .find(|other| other.slot() == signature.slot())
        {
            Some(other) => *other = signature,
            None => self.signatures.push(signature),
        }
    }

    /// Returns the transaction with one signature more.
    pub fn with(mut self, signature: TransactionSignature) -> Self {
        self.add(signature);
        self
    }

    /// Returns the transaction signed by one key more.
    pub fn signed_by(self, key: &KeyPair) -> Self {
        let signature = TransactionSignature::sign(&self.id(), key);
        self.with(signature)
    }

    /// Returns the required keys that the signatures, valid or not, do not fulfil yet.
    pub fn missing_signers(&self) -> Vec<PublicKey> {
        let mut missing = self.missing_parties();
        let batch = self.signers(true);
        let notary = self.wire.notary_key();
        missing.extend(notary.filter(|key| !key.is_fulfilled_by(&batch)).cloned());
        missing.sort_unstable();
        missing.dedup();
        missing
    }

    /// Returns the required keys of command signers whose signatures are missing, without the notary's.
    pub fn missing_parties(&self) -> Vec<PublicKey> {
        let alone = self.signers(false);
        let required = self.wire.command_signers().into_iter();
        let missing = required.filter(|key| !key.is_fulfilled_by(&alone));
        missing.cloned().collect()
    }

    /// Returns the keys that signed it in a batch if `batch` is true, and otherwise those that signed it alone.
    fn signers(&self, batch: bool) -> BTreeSet<&PublicKey> {
        let signatures = self.signatures.iter();
        let of_kind = signatures.filter(|signature| signature.batch.is_some() == batch);
        of_kind.map(|signature| &signature.by).collect()
    }
}

impl Encode for SignedTransaction {
    fn encode(&self, e: &mut Encoder) {
        e.array(2);
        self.wire.encode(e);
        self.signatures.encode(e);
    }
}

impl Decode for SignedTransaction {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.expect_array(2)?;
        let wire = WireTransaction::decode(d)?;
        let signatures = read_signatures(d)?;
        Ok(Self { wire, signatures })
    }
}

fn read_signatures(d: &mut Decoder<'_>) -> Result<Vec<TransactionSignature>, DecodeError> {
    let signatures: Vec<TransactionSignature> = d.vec_of(SIGNATURES_MAX)?;
    const FEW: usize = 16;
    let repeated = if signatures.len() <= FEW {
        signatures
            .iter()
            .enumerate()
            .any(|(i, s)| signatures[..i].iter().any(|t| t.slot() == s.slot()))
    } else {
        let mut seen = BTreeSet::new();
        !signatures
            .iter()
            .all(|signature| seen.insert(signature.slot()))
    };
    if repeated {
        return Err(d.invalid("a key signs a transaction twice in the same way"));
    }
    Ok(signatures)
}
