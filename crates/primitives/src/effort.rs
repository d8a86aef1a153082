//! Counts the hashes and signatures of this process, to compare them with the capacity of the machine. No decision depends on it.

use std::sync::atomic::{AtomicU64, Ordering};

static HASHED_BLOCKS: AtomicU64 = AtomicU64::new(0);
static SIGNATURES_MADE: AtomicU64 = AtomicU64::new(0);

/// A block of SHA-256, in bytes.
const BLOCK_BYTES: u64 = 64;

/// See [`effort`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    /// Bytes that went through SHA-256, padding included.
    pub hashed_bytes: u64,
    /// Signatures made.
    pub signatures_made: u64,
}

/// Returns the work of this crate in this process so far, over all threads; TLS has its own hashes and signatures.
#[must_use]
pub fn effort() -> Effort {
    Effort {
        hashed_bytes: HASHED_BLOCKS.load(Ordering::Relaxed) * BLOCK_BYTES,
        signatures_made: SIGNATURES_MADE.load(Ordering::Relaxed),
    }
}

pub(crate) fn hashed(blocks: usize) {
    HASHED_BLOCKS.fetch_add(blocks as u64, Ordering::Relaxed);
}

pub(crate) fn signed() {
    SIGNATURES_MADE.fetch_add(1, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Domain, Hash, Hasher, KeyPair, Scheme, SignatureContext};

    /// Other tests of this process hash too, so the counters show at least the work of this test.
    #[test]
    fn what_is_hashed_and_signed_is_counted() {
        let before = effort();
        // 1 + 100 bytes and 9 of padding are two blocks.
        let short = Hash::of(Domain::Derive, &[&[7; 100]]);
        // 1,000 and 9 are sixteen.
        let mut pieces = Hasher::new();
        pieces.update(&[7; 10]);
        pieces.update(&[7; 990]);
        let _ = pieces.finish();
        let pair = KeyPair::from_seed(Scheme::Ed25519, [1; 32]);
        let _ = pair.sign(SignatureContext::Transaction, &short);
        let after = effort();
        assert!(after.hashed_bytes - before.hashed_bytes >= (2 + 16) * BLOCK_BYTES);
        assert!(after.signatures_made > before.signatures_made);
    }
}
