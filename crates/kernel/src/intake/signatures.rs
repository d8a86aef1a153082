//! Signature checks: gathered over a round, made as one batch, good ones remembered.

use std::collections::HashMap;

use primitives::{
    Domain, Hash, PublicKey, Signature, SignatureChecker, SignatureContext, SignedMessage,
};

use crate::cache::GenerationCache;
use crate::figures::{CacheFigures, Figures};
use crate::options::KernelOptions;
use crate::peers::budget::work_of;
use crate::round::CheckOwner;

/// Weight of a known-good signature in its cache, in bytes.
const KNOWN_BYTES: usize = 64;

/// The signatures that wait for the round's check, and those known to be good.
pub(crate) struct Signatures {
    checker: SignatureChecker,
    /// Signed messages known to be good: our own, and those checked before.
    known_good: GenerationCache<Hash, ()>,
    /// The checks of this round. Those of one owner stand side by side. Bounded by the messages that a round takes in.
    waiting: Vec<(CheckOwner, SignedMessage)>,
}

impl Signatures {
    /// Creates the part without any signature.
    pub(crate) fn new(options: &KernelOptions) -> Self {
        Self {
            checker: SignatureChecker::with_budget(options.keys_bytes),
            known_good: GenerationCache::new(options.known_signatures_bytes),
            waiting: Vec::new(),
        }
    }

    /// Adds checks to the round, except of signatures known to be good. Returns the work that they cause. It is 0 if there is none to
    /// add.
    pub(crate) fn gather(&mut self, owner: CheckOwner, messages: &[SignedMessage]) -> u64 {
        let mut work = 0;
        for message in messages {
            if self.known_good.contains(&digest(message)) {
                self.known_good.count_hit();
            } else {
                // Counted as a miss when it is checked.
                work += work_of([message]);
                self.waiting.push((owner, message.clone()));
            }
        }
        work
    }

    /// Adds one check to the round, even if the result is known. Returns its work.
    pub(crate) fn add(&mut self, owner: CheckOwner, message: SignedMessage) -> u64 {
        let work = work_of([&message]);
        self.waiting.push((owner, message));
        work
    }

    /// Returns whether checks wait.
    pub(crate) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Makes all checks that wait, as one batch. Returns one verdict for each run of checks with the same owner.
    pub(crate) fn check_waiting(&mut self, figures: &mut Figures) -> Vec<(CheckOwner, bool)> {
        let checks = std::mem::take(&mut self.waiting);
        let verdicts = self.check_messages(checks.iter().map(|(_, message)| message), figures);
        assert_eq!(checks.len(), verdicts.len(), "each check has one verdict");
        let mut by_owner: Vec<(CheckOwner, bool)> = Vec::new();
        for ((owner, _), is_good) in checks.into_iter().zip(verdicts) {
            match by_owner.last_mut() {
                Some((last, all_good)) if *last == owner => *all_good &= is_good,
                _ => by_owner.push((owner, is_good)),
            }
        }
        by_owner
    }

    /// Returns one verdict for each message. Equal messages are checked once, known ones not at all.
    pub(crate) fn check_messages<'a>(
        &mut self,
        messages: impl Iterator<Item = &'a SignedMessage>,
        figures: &mut Figures,
    ) -> Vec<bool> {
        let mut places: HashMap<Hash, usize> = HashMap::new();
        let mut batch: Vec<SignedMessage> = Vec::new();
        let mut digests: Vec<Hash> = Vec::new();
        let mut which: Vec<Option<usize>> = Vec::new();
        for message in messages {
            let digest = digest(message);
            if self.known_good.holds(&digest) {
                which.push(None);
                continue;
            }
            let place = *places.entry(digest).or_insert_with(|| {
                batch.push(message.clone());
                digests.push(digest);
                batch.len() - 1
            });
            which.push(Some(place));
        }
        let verdicts = self.checker.check_batch(&batch);
        assert_eq!(batch.len(), verdicts.len(), "a batch has one verdict each");
        figures.signatures_checked += batch.len() as u64;
        if !batch.is_empty() {
            figures.signature_batches += 1;
            figures.signature_batch_checks.record(batch.len() as u64);
        }
        for (digest, good) in digests.into_iter().zip(&verdicts) {
            if *good {
                self.known_good.insert(digest, (), KNOWN_BYTES);
            } else {
                figures.signatures_bad += 1;
            }
        }
        let verdict = |place: Option<usize>| place.is_none_or(|place| verdicts[place]);
        which.into_iter().map(verdict).collect()
    }

    /// Returns whether all signatures are good. They are checked at once and not remembered.
    pub(crate) fn are_good(&mut self, messages: &[SignedMessage]) -> bool {
        !self.checker.check_batch(messages).contains(&false)
    }

    /// Returns the checker, for proofs that check their own signatures.
    pub(crate) fn checker(&mut self) -> &mut SignatureChecker {
        &mut self.checker
    }

    /// Remembers a signature of this node, which needs no check.
    pub(crate) fn trust_own(
        &mut self,
        key: PublicKey,
        context: SignatureContext,
        message: Hash,
        signature: &Signature,
    ) {
        let signature = *signature;
        let signed = SignedMessage {
            key,
            context,
            message,
            signature,
        };
        self.known_good.insert(digest(&signed), (), KNOWN_BYTES);
    }

    /// Returns the figures of the signatures known to be good.
    pub(crate) fn known_figures(&self) -> CacheFigures {
        self.known_good.figures()
    }

    /// Returns the figures of the decoded keys.
    pub(crate) fn key_figures(&self) -> CacheFigures {
        let counts = self.checker.key_counts();
        CacheFigures {
            bytes: self.checker.key_bytes() as u64,
            budget_bytes: self.checker.key_bytes_max() as u64,
            hits: counts.hits,
            misses: counts.misses,
            evicted: counts.evicted,
        }
    }
}

/// Returns the key of a signed message in the cache of good ones.
fn digest(signed: &SignedMessage) -> Hash {
    let key: &[u8] = match &signed.key {
        PublicKey::Ed25519(bytes) => bytes,
        PublicKey::EcdsaP256(bytes) => bytes,
        PublicKey::Composite(_) => &[],
    };
    let head = [signed.context as u8, signed.signature.scheme() as u8];
    let message = signed.message.as_bytes();
    let parts: [&[u8]; 5] = [b"good", &head, message, signed.signature.bytes(), key];
    Hash::of(Domain::Derive, &parts)
}
