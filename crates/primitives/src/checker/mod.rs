//! Checks signatures, one by one or in batches, always with the same verdict.

mod bisect;
mod cache;
mod ed25519;
mod p256;

use crate::{Hash, PublicKey, Scheme, Signature, SignatureContext};
use cache::KeyCache;
pub use cache::KeyCounts;
use ed25519::Prepared;

/// One signature to check: by this key, over this message, in this context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedMessage {
    /// Who is said to have signed; a composite key signs nothing itself.
    pub key: PublicKey,
    /// What for.
    pub context: SignatureContext,
    /// What.
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
/// signatures, but for a chance of 2^-128 that nobody can steer: the coefficients come from hashing the whole batch.
#[derive(Debug)]
pub struct SignatureChecker {
    keys: KeyCache,
}

impl SignatureChecker {
    /// Decoded keys that are kept by default.
    pub const KEYS_DEFAULT: usize = 16_384;

    /// What a decoded key is reckoned at, its place in the map included.
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

    /// What was asked of the decoded keys.
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

    /// Whether one signature is valid.
    pub fn check(&mut self, signed: &SignedMessage) -> bool {
        match (&signed.key, signed.signature.scheme()) {
            (PublicKey::Ed25519(key), Scheme::Ed25519) => {
                Prepared::new(&mut self.keys, key, signed).is_some_and(|prepared| prepared.holds())
            }
            (PublicKey::EcdsaP256(key), Scheme::EcdsaP256) => p256::check(key, signed),
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
                    if let Some(prepared) = Prepared::new(&mut self.keys, key, signed) {
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
}

impl Default for SignatureChecker {
    fn default() -> Self {
        Self::new()
    }
}
