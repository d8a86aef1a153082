//! Ed25519 as the ledger uses it: alone, in batches, with few keys and with many.

use std::hint::black_box;
use std::time::Duration;

use primitives::{
    Domain, Hash, KeyPair, Scheme, SignatureChecker, SignatureContext, SignedMessage,
};
use serde::Serialize;

use super::rate::rate;

const BATCH: usize = 64;
const LARGE_BATCH: usize = 1024;

/// Signature operations a second on one core.
#[derive(Clone, Debug, Serialize)]
pub struct SignatureRates {
    /// Distinct signers among the messages.
    pub signers: usize,
    /// Signatures a second.
    pub sign_per_s: f64,
    /// Verifications a second, one at a time.
    pub verify_per_s: f64,
    /// Verifications a second in batches of 64.
    pub verify_batch_64_per_s: f64,
    /// Verifications a second in batches of 1024.
    pub verify_batch_1024_per_s: f64,
}

impl SignatureRates {
    /// Measures each operation for `slice`, with messages of `signers` keys in turn.
    pub fn measure(signers: usize, slice: Duration) -> Self {
        let prepared = Prepared::of(signers);
        Self {
            signers,
            sign_per_s: prepared.sign(slice),
            verify_per_s: verify(&prepared.messages, 1, slice),
            verify_batch_64_per_s: verify(&prepared.messages, BATCH, slice),
            verify_batch_1024_per_s: verify(&prepared.messages, LARGE_BATCH, slice),
        }
    }
}

/// Returns the signatures made a second, and checked a second in batches of 64. Each is measured for `slice`.
pub(super) fn sign_and_check(signers: usize, slice: Duration) -> (f64, f64) {
    let prepared = Prepared::of(signers);
    (
        prepared.sign(slice),
        verify(&prepared.messages, BATCH, slice),
    )
}

/// Keys, and messages that they signed in turn.
struct Prepared {
    keys: Vec<KeyPair>,
    messages: Vec<SignedMessage>,
}

impl Prepared {
    fn of(signers: usize) -> Self {
        let keys: Vec<KeyPair> = (0..signers.max(1)).map(key).collect();
        let count = signers.max(LARGE_BATCH).next_multiple_of(LARGE_BATCH);
        let messages = (0..count)
            .map(|at| {
                let key = &keys[at % keys.len()];
                let message = Hash::of(Domain::TransactionId, &[&at.to_be_bytes()]);
                SignedMessage {
                    key: key.public().clone(),
                    context: SignatureContext::Transaction,
                    message,
                    signature: key.sign(SignatureContext::Transaction, &message),
                }
            })
            .collect();
        Self { keys, messages }
    }

    fn sign(&self, slice: Duration) -> f64 {
        let count = self.messages.len();
        let mut turn = 0usize;
        rate(slice, || {
            turn = (turn + 1) % count;
            let key = &self.keys[turn % self.keys.len()];
            black_box(key.sign(SignatureContext::Transaction, &self.messages[turn].message));
            1
        })
    }
}

fn key(number: usize) -> KeyPair {
    let seed = Hash::of(Domain::Derive, &[b"probe", &number.to_be_bytes()]);
    KeyPair::from_seed(Scheme::Ed25519, *seed.as_bytes())
}

fn verify(messages: &[SignedMessage], batch: usize, slice: Duration) -> f64 {
    let mut checker = SignatureChecker::default();
    let mut turn = 0usize;
    rate(slice, || {
        let part = &messages[turn..turn + batch];
        turn = (turn + batch) % messages.len();
        let good = if batch == 1 {
            u64::from(checker.check(&part[0]))
        } else {
            let verdicts = checker.check_batch(part);
            verdicts.into_iter().map(u64::from).sum()
        };
        assert_eq!(good, batch as u64, "the probe's own signatures are valid");
        good
    })
}
