//! Compares this crate's Ed25519 checks with those of `ed25519-zebra`, in paired runs:
//! `cargo run --release --manifest-path fuzz/Cargo.toml --example ed25519_libraries`.
//!
//! Each row alternates between the two, so that a change of the machine's speed meets both alike, and prints medians.

use std::hint::black_box;
use std::time::Instant;

use ed25519_zebra::{Signature as ZebraSignature, VerificationKey, VerificationKeyBytes, batch};
use fuzz::Coefficients;
use primitives::{
    Domain, Hash, KeyPair, PublicKey, Scheme, Signature, SignatureChecker, SignatureContext,
    SignedMessage,
};

/// Pairs of runs of each row.
const PAIRS: usize = 15;
/// Shortest duration of one run, in milliseconds.
const RUN_MS_MIN: u128 = 40;

/// The same inputs in the library's types.
struct Item {
    key: VerificationKeyBytes,
    decoded: VerificationKey,
    signature: ZebraSignature,
    hash: Hash,
}

fn main() {
    println!(
        "{:<34} {:>9} {:>9} {:>7}",
        "us a signature", "ours", "library", "ratio"
    );
    let signed = messages(1, 1);
    let items = items(&signed);
    let mut checker = SignatureChecker::new();
    row(
        "alone, key decoded before",
        1,
        || assert!(checker.check(&signed[0])),
        || {
            let item = &items[0];
            assert!(
                item.decoded
                    .verify(&item.signature, item.hash.as_bytes())
                    .is_ok()
            );
        },
    );
    for (count, keys) in [
        (2, 1),
        (2, 2),
        (4, 3),
        (8, 4),
        (16, 4),
        (64, 3),
        (64, 16),
        (64, 64),
        (256, 3),
        (1024, 3),
        (1024, 64),
        (1024, 1024),
    ] {
        let signed = messages(count, keys);
        let items = self::items(&signed);
        let mut checker = SignatureChecker::new();
        row(
            &format!("batch of {count} by {keys} keys"),
            count,
            || assert!(checker.check_batch(&signed).iter().all(|good| *good)),
            || assert!(library(&items)),
        );
    }
}

fn library(items: &[Item]) -> bool {
    let mut seed = primitives::Hasher::new();
    let mut verifier = batch::Verifier::new();
    for item in items {
        seed.update(item.hash.as_bytes());
        seed.update(&item.signature.to_bytes());
        seed.update(item.key.as_ref());
        verifier.queue((item.key, item.signature, item.hash.as_bytes()));
    }
    verifier.verify(Coefficients::from(seed.finish())).is_ok()
}

fn items(signed: &[SignedMessage]) -> Vec<Item> {
    let item = |signed: &SignedMessage| {
        let PublicKey::Ed25519(key) = signed.key else {
            unreachable!("made as Ed25519")
        };
        Item {
            key: key.into(),
            decoded: VerificationKey::try_from(key).expect("a key that was just made is a point"),
            signature: ZebraSignature::from_bytes(signed.signature.bytes()),
            hash: Signature::signed_hash(Scheme::Ed25519, signed.context, &signed.message),
        }
    };
    signed.iter().map(item).collect()
}

/// Prints the medians of both and of the ratios of the pairs.
fn row(name: &str, units: u32, mut ours: impl FnMut(), mut library: impl FnMut()) {
    let mut times: [Vec<f64>; 3] = Default::default();
    for _ in 0..PAIRS {
        let pair = [run(units, &mut ours), run(units, &mut library)];
        times[0].push(pair[0]);
        times[1].push(pair[1]);
        times[2].push(pair[0] / pair[1]);
    }
    let [ours, library, ratio] = times.map(median);
    println!("{name:<34} {ours:>9.2} {library:>9.2} {ratio:>7.3}");
}

fn run(units: u32, work: &mut impl FnMut()) -> f64 {
    let (start, mut runs) = (Instant::now(), 0u32);
    while start.elapsed().as_millis() < RUN_MS_MIN {
        black_box(work());
        runs += 1;
    }
    start.elapsed().as_secs_f64() * 1e6 / f64::from(runs) / f64::from(units)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn messages(count: u32, keys: u32) -> Vec<SignedMessage> {
    let pair = |key: u32| {
        let seed = Hash::of(Domain::Derive, &[&key.to_be_bytes()]);
        KeyPair::from_seed(Scheme::Ed25519, *seed.as_bytes())
    };
    let pairs: Vec<KeyPair> = (0..keys).map(pair).collect();
    let message = |number: u32| {
        let pair = &pairs[(number % keys) as usize];
        let message = Hash::of(Domain::TransactionId, &[&number.to_be_bytes()]);
        SignedMessage {
            key: pair.public().clone(),
            context: SignatureContext::Transaction,
            signature: pair.sign(SignatureContext::Transaction, &message),
            message,
        }
    };
    (0..count).map(message).collect()
}
