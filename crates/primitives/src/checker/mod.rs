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

/// One signature to check: by this key, over this message, in this context.
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
/// An Ed25519 signature is judged by ZIP 215 whether it is checked alone or in a batch: `[8][s]B = [8]R + [8][k]A`, with
/// `s` below the order and any encoding of `A` and `R` that is a point. A batch whose equation holds has only valid
/// signatures, with an error of 2^-128 that no signer can influence: the coefficients are hashes of the whole batch.
#[derive(Debug)]
pub struct SignatureChecker {
    keys: KeyCache,
}

impl SignatureChecker {
    /// Decoded keys that are kept by default.
    pub const KEYS_DEFAULT: usize = 16_384;

    /// Memory that one decoded key counts for, in bytes, with its place in the map.
    pub const KEY_BYTES: usize = 224;

    /// Signatures in one batch equation; more are split.
    pub const BATCH_MAX: usize = 1024;

    /// With the default number of decoded keys.
    #[must_use]
    pub fn new() -> Self {
        Self::with_capacity(Self::KEYS_DEFAULT)
    }

    /// With room for so many decoded keys.
    #[must_use]
    pub fn with_capacity(keys: usize) -> Self {
        Self {
            keys: KeyCache::new(keys),
        }
    }

    /// With room for as many decoded keys as `bytes` hold.
    #[must_use]
    pub fn with_budget(bytes: usize) -> Self {
        Self::with_capacity(bytes / Self::KEY_BYTES)
    }

    /// Returns how many look-ups found a decoded key, and how many keys were dropped.
    pub fn key_counts(&self) -> KeyCounts {
        self.keys.counts
    }

    /// Decoded keys held now, in bytes.
    pub fn key_bytes(&self) -> usize {
        self.keys.len() * Self::KEY_BYTES
    }

    /// Decoded keys held at most, in bytes.
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

    /// Whether each signature is valid, in the order given. A bad one never hurts its neighbours.
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
