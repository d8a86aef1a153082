//! Signatures on transactions.

use primitives::{
    Coded, Decode, DecodeError, Decoder, Domain, Encode, Encoder, Hash, KeyPair, MerkleError,
    MerkleProof, PublicKey, Signature, SignatureContext, SignedMessage, merkle_proofs, merkle_root,
};
use thiserror::Error;

use crate::limits::BATCH_PROOF_HASHES_MAX;
use crate::{TxId, errors};

/// One key's signature on a transaction: on its id alone, or, by a notary, on the root over a batch of ids. The two are never
/// interchangeable: if a notary and a party have the same key, the notary's signature does not count as the party's consent,
/// and the party's consent does not count as notarisation.
///
/// Encoded as `[key, signature, batch proof or null]`. Without a batch, the signed message is the id's hash in the context
/// `Transaction`. In a batch, the signed message is the Merkle root over the leaves `Hash::of(BatchLeaf, [id])` in the context
/// `NotaryBatch`. The proof leads from the id's leaf to that root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionSignature {
    /// The key that signed. It is of one scheme, never a composite key.
    pub by: PublicKey,
    /// The signature.
    pub signature: Signature,
    /// The path from the leaf of the id to the signed root, if a batch was signed.
    pub batch: Option<MerkleProof>,
}

/// A signature's batch proof leads nowhere.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the batch proof of the signature by {by} leads to no root: {source}")]
pub struct BatchProofError {
    /// The key that signed.
    pub by: PublicKey,
    /// The fault of the proof.
    pub source: MerkleError,
}

impl Coded for BatchProofError {
    fn code(&self) -> &'static str {
        "tx.batch_proof_invalid"
    }

    fn hint(&self) -> &'static str {
        errors::action(self.code())
    }
}

/// Returns the leaf that stands for a transaction in a notary's batch: `Hash::of(BatchLeaf, [id])`.
pub fn batch_leaf(id: &TxId) -> Hash {
    Hash::of(Domain::BatchLeaf, &[id.as_bytes()])
}

impl TransactionSignature {
    /// Returns the bytes that the signature takes in memory, roughly.
    pub(crate) fn weight(&self) -> usize {
        let path = self.batch.as_ref().map_or(0, |proof| proof.path.len());
        size_of::<Self>() + path * size_of::<Hash>()
    }

    /// Signs one transaction.
    pub fn sign(id: &TxId, by: &KeyPair) -> Self {
        let signature = by.sign(SignatureContext::Transaction, &id.hash());
        Self {
            by: by.public().clone(),
            signature,
            batch: None,
        }
    }

    /// Signs a batch of transactions with one signature; the results are in the order of the ids.
    pub fn sign_batch(ids: &[TxId], by: &KeyPair) -> Vec<Self> {
        let leaves: Vec<Hash> = ids.iter().map(batch_leaf).collect();
        let Some(root) = merkle_root(&leaves) else {
            return Vec::new();
        };
        let signature = by.sign(SignatureContext::NotaryBatch, &root);
        merkle_proofs(&leaves)
            .into_iter()
            .map(|proof| Self {
                by: by.public().clone(),
                signature,
                batch: Some(proof),
            })
            .collect()
    }

    /// Returns the slot of the signature: the key, and whether it signs a batch. A transaction has at most one signature for
    /// each slot.
    pub(crate) fn slot(&self) -> (&PublicKey, bool) {
        (&self.by, self.batch.is_some())
    }

    /// Returns the check that the signature has to pass to be one on this transaction.
    pub fn signed_message(&self, id: &TxId) -> Result<SignedMessage, BatchProofError> {
        let (context, message) = match &self.batch {
            None => (SignatureContext::Transaction, id.hash()),
            Some(proof) => {
                let root = proof
                    .root(batch_leaf(id))
                    .map_err(|source| BatchProofError {
                        by: self.by.clone(),
                        source,
                    })?;
                (SignatureContext::NotaryBatch, root)
            }
        };
        Ok(SignedMessage {
            key: self.by.clone(),
            context,
            message,
            signature: self.signature,
        })
    }
}

impl Encode for TransactionSignature {
    fn encode(&self, e: &mut Encoder) {
        e.array(3);
        self.by.encode(e);
        self.signature.encode(e);
        self.batch.encode(e);
    }
}

impl Decode for TransactionSignature {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.expect_array(3)?;
        let by = PublicKey::decode(d)?;
        if by.scheme().is_none() {
            return Err(d.invalid("a composite key signs nothing itself"));
        }
        let signature = Signature::decode(d)?;
        let batch: Option<MerkleProof> = Option::decode(d)?;
        if batch
            .as_ref()
            .is_some_and(|proof| proof.path.len() > BATCH_PROOF_HASHES_MAX)
        {
            return Err(d.invalid("a batch proof has too many hashes"));
        }
        Ok(Self {
            by,
            signature,
            batch,
        })
    }
}
