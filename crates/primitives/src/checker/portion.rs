//! Portions of a batch. The check of a portion uses no shared state, so any thread can do it.

use std::collections::HashMap;

use curve25519_dalek::edwards::EdwardsPoint;

use super::ed25519::Prepared;
use super::signed_message::SignedMessage;
use super::{bisect, cache, p256};
use crate::{PublicKey, Scheme};

/// See [`crate::SignatureChecker::PORTION_MIN`].
pub(super) const PORTION_MIN: usize = 128;

/// A portion of a batch of signatures.
#[derive(Debug)]
pub struct CheckPortion(pub(super) Vec<Undecided>);

/// A signature to check, with its signer's decoded key if that is known.
#[derive(Debug)]
pub(super) struct Undecided {
    pub(super) signed: SignedMessage,
    pub(super) key_point: Option<EdwardsPoint>,
}

/// The verdicts on a portion.
#[derive(Debug)]
pub struct CheckedPortion {
    /// Whether each signature is valid, in the order of the portion.
    pub(super) verdicts: Vec<bool>,
    /// The keys that had to be decoded, in the order of their first signatures.
    pub(super) decoded: Vec<([u8; 32], EdwardsPoint)>,
}

impl CheckPortion {
    /// Returns the number of signatures.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether the portion has no signature.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Estimates the time of the checks, in units of ten microseconds: one for an Ed25519 signature in a batch, 16 for a P-256 one.
    pub fn cost(&self) -> usize {
        let cost = |undecided: &Undecided| match undecided.signed.signature.scheme() {
            Scheme::Ed25519 => 1,
            Scheme::EcdsaP256 => 16,
        };
        self.0.iter().map(cost).sum()
    }

    /// Checks the signatures.
    #[must_use]
    pub fn check(self) -> CheckedPortion {
        let mut verdicts = vec![false; self.0.len()];
        let mut decoded = Vec::new();
        let mut seen: HashMap<[u8; 32], Option<EdwardsPoint>> = HashMap::new();
        let mut waiting = Vec::with_capacity(self.0.len());
        for (at, Undecided { signed, key_point }) in self.0.iter().enumerate() {
            let (signature, hash) = (signed.signature.bytes(), signed.signed_hash());
            match (&signed.key, signed.signature.scheme()) {
                (PublicKey::Ed25519(key), Scheme::Ed25519) => {
                    let decode = || {
                        *seen.entry(*key).or_insert_with(|| {
                            let point = cache::decode(key);
                            decoded.extend(point.map(|point| (*key, point)));
                            point
                        })
                    };
                    let prepared = key_point
                        .or_else(decode)
                        .and_then(|point| Prepared::new(key, point, signature, hash.as_bytes()));
                    waiting.extend(prepared.map(|prepared| (at, prepared)));
                }
                (PublicKey::EcdsaP256(key), Scheme::EcdsaP256) => {
                    verdicts[at] = p256::check(key, signature, hash.as_bytes());
                }
                _ => {}
            }
        }
        bisect::settle(&waiting, &mut verdicts);
        CheckedPortion { verdicts, decoded }
    }
}

/// Checks the portions of a batch, on one or several threads.
pub trait CheckWorkers {
    /// Returns the number of threads that check at the same time.
    fn threads(&self) -> usize;

    /// Returns the minimum number of signatures in a portion, if a batch has so many.
    fn portion_min(&self) -> usize {
        PORTION_MIN
    }

    /// Checks all portions, in any order and on any threads. Returns the verdicts in the order of the portions.
    fn check(&self, portions: Vec<CheckPortion>) -> Vec<CheckedPortion>;
}

/// Checks the portions in the caller's thread, one after another.
#[derive(Clone, Copy, Debug, Default)]
pub struct InlineChecks;

impl CheckWorkers for InlineChecks {
    fn threads(&self) -> usize {
        1
    }

    fn check(&self, portions: Vec<CheckPortion>) -> Vec<CheckedPortion> {
        portions.into_iter().map(CheckPortion::check).collect()
    }
}
