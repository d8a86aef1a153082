//! Checks signatures, one by one or in batches, always with the same verdict.

mod bisect;
mod cache;
mod ed25519;
mod p256;
#[cfg(test)]
mod vectors;

use crate::{Hash, PublicKey, Scheme, Signature, SignatureContext};
use cache::KeyCache;
pub use cache::KeyCounts;
use ed25519::Prepared;

/// A signature to check, with its key, message and context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedMessage {
    /// The alleged signer's key. A composite key signs nothing itself.
    pub key: PublicKey,
    /// The purpose of the signature.
    pub context: SignatureContext,
    /// The hash of the message.
    pub message: Hash,
    /// The signature.
    pub signature: Signature,
}

impl SignedMessage {
    fn signed_hash(&self) -> Hash {
        Signature::signed_hash(self.signature.scheme(), self.context, &self.message)
    }
}

/// Checks signatures and remembers decoded keys.
///
/// # Correctness
/// An Ed25519 signature is judged by ZIP 215 whether it is checked alone or in a batch: `[8][s]B = [8]R + [8][k]A`, with `s`
/// below the order and any encoding of `A` and `R` that is a point. If the equation of a batch holds, all its signatures are
/// valid, except with a probability of 2^-128. No signer can influence the outcome, because the coefficients are hashes of the
/// whole batch.
#[derive(Debug)]
pub struct SignatureChecker {
    keys: KeyCache,
}

impl SignatureChecker {
    /// Default number of decoded keys that are kept.
    pub const KEYS_DEFAULT: usize = 16_384;

    /// Memory charged for one decoded key and its map entry, in bytes.
    pub const KEY_BYTES: usize = 224;

    /// Maximum number of signatures in one batch equation. Larger batches are split.
    pub const BATCH_MAX: usize = 1024;

    /// Creates a checker that keeps the default number of decoded keys.
    #[must_use]
    pub fn new() -> Self {
        Self::with_capacity(Self::KEYS_DEFAULT)
    }

    /// Creates a checker that keeps at most so many decoded keys.
    #[must_use]
    pub fn with_capacity(keys: usize) -> Self {
        Self {
            keys: KeyCache::new(keys),
        }
    }

    /// Creates a checker that keeps as many decoded keys as fit `bytes` bytes.
    #[must_use]
    pub fn with_budget(bytes: usize) -> Self {
        Self::with_capacity(bytes / Self::KEY_BYTES)
    }

    /// Returns how many look-ups found a decoded key or had to decode it, and how many keys were dropped.
    pub fn key_counts(&self) -> KeyCounts {
        self.keys.counts
    }

    /// Returns the memory of the decoded keys held now, in bytes.
    pub fn key_bytes(&self) -> usize {
        self.keys.len() * Self::KEY_BYTES
    }

    /// Returns the maximum memory of the decoded keys, in bytes.
    pub fn key_bytes_max(&self) -> usize {
        self.keys.capacity() * Self::KEY_BYTES
    }

    /// Tells whether one signature is valid.
    pub fn check(&mut self, signed: &SignedMessage) -> bool {
        match (&signed.key, signed.signature.scheme()) {
            (PublicKey::Ed25519(key), Scheme::Ed25519) => self
                .prepare(key, signed)
                .is_some_and(|prepared| prepared.holds()),
            (PublicKey::EcdsaP256(key), Scheme::EcdsaP256) => p256::check(
                key,
                signed.signature.bytes(),
                signed.signed_hash().as_bytes(),
            ),
            _ => false,
        }
    }

    /// Returns whether each signature is valid, in the given order. An invalid one does not change the results of the others.
    pub fn check_batch(&mut self, batch: &[SignedMessage]) -> Vec<bool> {
        let mut verdicts = vec![false; batch.len()];
        let mut waiting = Vec::with_capacity(batch.len().min(Self::BATCH_MAX));
        for (at, signed) in batch.iter().enumerate() {
            match (&signed.key, signed.signature.scheme()) {
                (PublicKey::Ed25519(key), Scheme::Ed25519) => {
                    if let Some(prepared) = self.prepare(key, signed) {
                        waiting.push((at, prepared));
                    }
                }
                _ => verdicts[at] = self.check(signed),
            }
            if waiting.len() == Self::BATCH_MAX {
                bisect::settle(&waiting, &mut verdicts);
                waiting.clear();
            }
        }
        bisect::settle(&waiting, &mut verdicts);
        verdicts
    }

    fn prepare(&mut self, key: &[u8; 32], signed: &SignedMessage) -> Option<Prepared> {
        let hash = signed.signed_hash();
        Prepared::new(
            &mut self.keys,
            key,
            signed.signature.bytes(),
            hash.as_bytes(),
        )
    }
}

impl Default for SignatureChecker {
    fn default() -> Self {
        Self::new()
    }
}
