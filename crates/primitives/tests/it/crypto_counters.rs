//! Hashes and signatures are counted.

use primitives::{Domain, Hash, Hasher, KeyPair, Scheme, SignatureContext};

const BLOCK_BYTES: u64 = 64;

/// Other tests of this process hash too, so the counters show at least the work of this test.
#[test]
fn hashes_and_signatures_are_counted() {
    let before = crypto_counters::counts();
    // 1 + 100 bytes and 9 bytes of padding fill two blocks.
    let short = Hash::of(Domain::Derive, &[&[7; 100]]);
    // 1,000 + 9 bytes fill sixteen blocks.
    let mut pieces = Hasher::new();
    pieces.update(&[7; 10]);
    pieces.update(&[7; 990]);
    let _ = pieces.finish();
    let pair = KeyPair::from_seed(Scheme::Ed25519, [1; 32]);
    let _ = pair.sign(SignatureContext::Transaction, &short);
    let after = crypto_counters::counts();
    assert!(after.hashed_bytes - before.hashed_bytes >= (2 + 16) * BLOCK_BYTES);
    assert!(after.signatures_made > before.signatures_made);
}
