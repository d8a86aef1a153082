//! Checks signatures, one by one or in batches, always with the same verdict.

mod bisect;
mod cache;
mod ed25519;
mod p256;
mod portion;
mod signed_message;
#[cfg(test)]
mod vectors;

use crate::PublicKey;
use cache::KeyCache;
pub use cache::KeyCounts;
use portion::Undecided;
pub use portion::{CheckPortion, CheckWorkers, CheckedPortion, InlineChecks};
pub use signed_message::SignedMessage;

/// Portions of a batch for each thread, so that a slow thread holds up few checks.
const PORTIONS_OF_A_THREAD: usize = 2;

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

    /// Minimum number of signatures in a portion of a batch. In smaller ones each signature costs more, and a batch that takes so little
    /// time gains nothing from a second thread that may have to wait for a core.
    pub const PORTION_MIN: usize = portion::PORTION_MIN;

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
        self.check_batch(std::slice::from_ref(signed)) == [true]
    }

    /// Returns whether each signature is valid, in the given order. An invalid one does not change the results of the others.
    pub fn check_batch(&mut self, batch: &[SignedMessage]) -> Vec<bool> {
        self.check_batch_on(batch.iter().cloned(), batch.len(), &InlineChecks)
    }

    /// Returns whether each signature is valid, in the given order, checked on the threads of `workers`. The verdicts do not depend on
    /// them. `expected` is about the number of signatures. It decides how they are shared.
    pub fn check_batch_on(
        &mut self,
        signatures: impl IntoIterator<Item = SignedMessage>,
        expected: usize,
        workers: &dyn CheckWorkers,
    ) -> Vec<bool> {
        let portions_max = match workers.threads() {
            0 | 1 => 1,
            threads => threads * PORTIONS_OF_A_THREAD,
        };
        let portions_wanted = expected / workers.portion_min().max(1);
        let size = expected.div_ceil(portions_wanted.clamp(1, portions_max));
        let size = size.clamp(1, Self::BATCH_MAX);
        let mut signatures = signatures.into_iter().fuse();
        let mut verdicts = Vec::with_capacity(expected);
        let mut count = 0;
        loop {
            // Only so many at a time, so that a key is rarely decoded twice and few copies are in memory.
            let portions: Vec<CheckPortion> = (0..portions_max)
                .map(|_| self.portion(signatures.by_ref().take(size)))
                .take_while(|portion| !portion.is_empty())
                .collect();
            if portions.is_empty() {
                break;
            }
            count += portions.iter().map(CheckPortion::len).sum::<usize>();
            for checked in workers.check(portions) {
                verdicts.extend(checked.verdicts);
                for (key, point) in checked.decoded {
                    self.keys.add(key, point);
                }
            }
        }
        assert_eq!(verdicts.len(), count, "each signature has one verdict");
        verdicts
    }

    fn portion(&mut self, signatures: impl Iterator<Item = SignedMessage>) -> CheckPortion {
        let undecided = signatures.map(|signed| Undecided {
            key_point: match &signed.key {
                PublicKey::Ed25519(key) => self.keys.get(key),
                _ => None,
            },
            signed,
        });
        CheckPortion(undecided.collect())
    }
}

impl Default for SignatureChecker {
    fn default() -> Self {
        Self::new()
    }
}
