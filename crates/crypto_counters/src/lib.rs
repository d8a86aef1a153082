//! Counters of the hashes and signatures of this process. They are compared with the capacity of the machine.
//!
//! No decision depends on them. They are in a crate of their own so that the crates without side effects contain no state that
//! outlives a call.

use std::sync::atomic::{AtomicU64, Ordering};

static HASHED_BLOCKS: AtomicU64 = AtomicU64::new(0);
static SIGNATURES_MADE: AtomicU64 = AtomicU64::new(0);

/// The size of a block of SHA-256, in bytes.
const BLOCK_BYTES: u64 = 64;

/// The counts so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CryptoCounts {
    /// Bytes hashed by SHA-256, padding included.
    pub hashed_bytes: u64,
    /// Signatures made.
    pub signatures_made: u64,
}

/// Returns the counts of this process over all threads. TLS has its own hashes and signatures, which are not counted.
#[must_use]
pub fn counts() -> CryptoCounts {
    CryptoCounts {
        hashed_bytes: HASHED_BLOCKS.load(Ordering::Relaxed) * BLOCK_BYTES,
        signatures_made: SIGNATURES_MADE.load(Ordering::Relaxed),
    }
}

/// Counts hashed blocks of SHA-256.
pub fn count_hashed_blocks(blocks: usize) {
    HASHED_BLOCKS.fetch_add(blocks as u64, Ordering::Relaxed);
}

/// Counts a signature.
pub fn count_signature() {
    SIGNATURES_MADE.fetch_add(1, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_add_up() {
        let before = counts();
        count_hashed_blocks(2);
        count_hashed_blocks(3);
        count_signature();
        let after = counts();
        assert_eq!(after.hashed_bytes - before.hashed_bytes, 5 * BLOCK_BYTES);
        assert_eq!(after.signatures_made - before.signatures_made, 1);
    }
}
