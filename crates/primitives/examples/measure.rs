//! Measures the cost of the primitives on this machine: `cargo run --release -p primitives --example measure`.

use std::hint::black_box;
use std::time::Instant;

use aws_lc_rs::digest;
use primitives::{
    Domain, Encode, Hash, KeyPair, Scheme, SignatureChecker, SignatureContext, SignedMessage,
    merkle_proofs, merkle_root,
};
use sha2::{Digest, Sha256};

/// Runs `work` for about a third of a second, three times, and prints the best time of one of its `units`, in microseconds.
fn measure(name: &str, units: u32, mut work: impl FnMut()) {
    let mut best = f64::INFINITY;
    for _ in 0..3 {
        let (start, mut runs) = (Instant::now(), 0u32);
        while start.elapsed().as_millis() < 300 {
            work();
            runs += 1;
        }
        best = best.min(start.elapsed().as_secs_f64() * 1e6 / f64::from(runs) / f64::from(units));
    }
    println!("{name:<48} {best:>9.3} us");
}

fn messages(count: u32, keys: u32, scheme: Scheme) -> Vec<SignedMessage> {
    let pairs: Vec<KeyPair> = (0..keys)
        .map(|key| {
            let seed = Hash::of(Domain::Derive, &[&key.to_be_bytes()]);
            KeyPair::from_seed(scheme, *seed.as_bytes())
        })
        .collect();
    (0..count)
        .map(|number| {
            let pair = &pairs[(number % keys) as usize];
            let message = Hash::of(Domain::TransactionId, &[&number.to_be_bytes()]);
            SignedMessage {
                key: pair.public().clone(),
                context: SignatureContext::Transaction,
                signature: pair.sign(SignatureContext::Transaction, &message),
                message,
            }
        })
        .collect()
}

fn main() {
    hashing();
    for scheme in [Scheme::Ed25519, Scheme::EcdsaP256] {
        let pair = KeyPair::from_seed(scheme, [7; 32]);
        measure(&format!("sign, {scheme:?}"), 1, || {
            black_box(pair.sign(SignatureContext::Transaction, &Hash::ZERO));
        });
        let signed = messages(1, 1, scheme);
        let mut checker = SignatureChecker::new();
        measure(&format!("check alone, {scheme:?}"), 1, || {
            assert!(checker.check(&signed[0]));
        });
    }
    for (count, keys) in [
        (2, 1),
        (2, 2),
        (3, 3),
        (4, 3),
        (8, 4),
        (16, 4),
        (64, 3),
        (64, 64),
        (256, 3),
        (1024, 3),
        (1024, 1024),
    ] {
        let signed = messages(count, keys, Scheme::Ed25519);
        let mut checker = SignatureChecker::new();
        measure(
            &format!("batch of {count}, {keys} keys, decoded before"),
            count,
            || assert!(checker.check_batch(&signed).iter().all(|good| *good)),
        );
        measure(
            &format!("batch of {count}, {keys} keys, not decoded"),
            count,
            || {
                let mut fresh = SignatureChecker::new();
                assert!(fresh.check_batch(&signed).iter().all(|good| *good));
            },
        );
    }
    let mut one_bad = messages(64, 3, Scheme::Ed25519);
    one_bad[17].message = Hash::ZERO;
    let mut checker = SignatureChecker::new();
    measure("batch of 64, 3 keys, one bad", 64, || {
        black_box(checker.check_batch(&one_bad));
    });
    let all_bad: Vec<SignedMessage> = one_bad
        .iter()
        .map(|signed| SignedMessage {
            message: Hash::plain(b"another"),
            ..signed.clone()
        })
        .collect();
    measure("batch of 64, 3 keys, all bad", 64, || {
        black_box(checker.check_batch(&all_bad));
    });
}

fn hashing() {
    for length in [33usize, 64, 97, 200, 1000, 1 << 20] {
        let bytes = vec![7; length];
        measure(&format!("hash of {length} bytes"), 1, || {
            black_box(Hash::plain(black_box(&bytes)));
        });
        measure(&format!("hash of {length} bytes, sha2"), 1, || {
            black_box(Sha256::digest(black_box(&bytes)));
        });
        measure(&format!("hash of {length} bytes, aws-lc-rs"), 1, || {
            black_box(digest::digest(&digest::SHA256, black_box(&bytes)));
        });
    }
    let leaves: Vec<Hash> = (0..1024u32)
        .map(|n| Hash::plain(&n.to_be_bytes()))
        .collect();
    measure("hash of a domain, 32 + 1 + 4 bytes", 1, || {
        black_box(Hash::of(
            Domain::Nonce,
            black_box(&[&[7; 32], &[1], &[1; 4]]),
        ));
    });
    measure("merkle root of 9 leaves", 1, || {
        black_box(merkle_root(black_box(&leaves[..9])));
    });
    measure("merkle root of 1024 leaves, each", 1024, || {
        black_box(merkle_root(black_box(&leaves)));
    });
    measure("merkle proofs of 1024 leaves, each", 1024, || {
        black_box(merkle_proofs(black_box(&leaves)));
    });
    measure("encode 1024 hashes, each", 1024, || {
        black_box(black_box(&leaves).to_bytes());
    });
}
