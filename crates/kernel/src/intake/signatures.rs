//! Signature checks: gathered over a round, made as one batch, good ones remembered.
//!
//! One transaction may carry thousands of signatures, which take longer than a round may. So checks that a peer causes beyond its share
//! of the round wait for the next ones, and their verdict comes later.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use ledger::PartyId;
use primitives::{
    Domain, Hash, Monotonic, PublicKey, Signature, SignatureChecker, SignatureContext,
    SignedMessage,
};

use crate::cache::GenerationCache;
use crate::figures::{CacheFigures, Figures};
use crate::options::KernelOptions;
use crate::part::Part;
use crate::peers::budget::{P256_WORK, PEER_ROUND_WORK_MAX, PeerBudgets, work_of};
use crate::round::CheckOwner;
use crate::writes::Batch;

/// Weight of a known-good signature in its cache, in bytes.
const KNOWN_BYTES: usize = 64;

/// Checks that belong together, and have one verdict.
#[derive(Debug)]
struct CheckGroup {
    owner: CheckOwner,
    /// The peer that caused them; `None` for checks of this node itself, which are never put off.
    payer: Option<PartyId>,
    /// The signatures that are not checked yet.
    messages: Vec<SignedMessage>,
    /// Whether they were put off, because they exceeded the peer's share of the round that received them.
    is_put_off: bool,
}

/// The verdict on a group of checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CheckVerdict {
    pub(crate) owner: CheckOwner,
    /// The peer that caused the checks.
    pub(crate) payer: Option<PartyId>,
    /// Whether all signatures are valid.
    pub(crate) is_good: bool,
    /// The work of the checks that the verdict took in this round.
    pub(crate) work: u64,
}

/// The work of checks that was done in the present round.
#[derive(Debug, Default)]
struct RoundShares {
    /// Checks that came in the round, by the peer that caused them.
    fresh: BTreeMap<PartyId, u64>,
    /// Checks that were put off, by the peer that caused them.
    put_off: BTreeMap<PartyId, u64>,
}

/// The signatures that wait for the round's check, and those known to be good.
pub(crate) struct Signatures {
    checker: SignatureChecker,
    /// Signed messages known to be good: our own, and those checked before.
    known_good: GenerationCache<Hash, ()>,
    /// Checks in the order of their arrival. Those that came in this round are bounded by the messages that a round takes in. A
    /// peer with checks from earlier rounds adds none, because none of its messages is handled.
    waiting: VecDeque<CheckGroup>,
    /// Some of those that wait were not considered in this round.
    is_due: bool,
    shares: RoundShares,
}

impl Part for Signatures {
    fn next_time(&self, now: Monotonic) -> Option<Monotonic> {
        self.has_waiting().then_some(now)
    }

    fn end_round(&mut self, _: &mut Batch) {
        assert!(!self.is_due, "a round ends with checks left");
        self.shares = RoundShares::default();
        self.is_due = !self.waiting.is_empty();
    }
}

impl Signatures {
    /// Creates the part without any signature.
    pub(crate) fn new(options: &KernelOptions) -> Self {
        Self {
            checker: SignatureChecker::with_budget(options.keys_bytes),
            known_good: GenerationCache::new(options.known_signatures_bytes),
            waiting: VecDeque::new(),
            is_due: false,
            shares: RoundShares::default(),
        }
    }

    /// Adds checks that a peer or this node causes, except of signatures known to be good. Returns the work that they cause. It is 0
    /// if there is none to add.
    pub(crate) fn gather(
        &mut self,
        owner: CheckOwner,
        messages: &[SignedMessage],
        payer: Option<PartyId>,
    ) -> u64 {
        let mut unknown = Vec::new();
        for message in messages {
            if self.known_good.contains(&digest(message)) {
                self.known_good.count_hit();
            } else {
                // Counted as a miss when it is checked.
                unknown.push(message.clone());
            }
        }
        self.push(owner, unknown, payer)
    }

    /// Adds one check that a peer or this node causes, even if the result is known. Returns its work.
    pub(crate) fn add(
        &mut self,
        owner: CheckOwner,
        message: SignedMessage,
        payer: Option<PartyId>,
    ) -> u64 {
        self.push(owner, vec![message], payer)
    }

    fn push(
        &mut self,
        owner: CheckOwner,
        messages: Vec<SignedMessage>,
        payer: Option<PartyId>,
    ) -> u64 {
        let work = work_of(&messages);
        if !messages.is_empty() {
            self.is_due = true;
            self.waiting.push_back(CheckGroup {
                owner,
                payer,
                messages,
                is_put_off: false,
            });
        }
        work
    }

    /// Returns whether checks wait that may be made in this round.
    pub(crate) fn is_due(&self) -> bool {
        self.is_due
    }

    /// Returns whether checks wait, for this round or a later one.
    pub(super) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Makes the waiting checks as one batch, within each peer's share of the round, and puts the others off. Returns the verdicts
    /// that are complete.
    pub(crate) fn check_due(
        &mut self,
        budgets: &mut PeerBudgets,
        figures: &mut Figures,
    ) -> Vec<CheckVerdict> {
        self.is_due = false;
        let mut batch = Vec::new();
        let mut portions = Vec::with_capacity(self.waiting.len());
        let put_off_max = self.share_of_put_off();
        for mut group in std::mem::take(&mut self.waiting) {
            let count = self.shares.take(&group, put_off_max, budgets);
            let rest = group.messages.split_off(count);
            let first = batch.len();
            batch.append(&mut group.messages);
            group.messages = rest;
            portions.push((group, first..batch.len()));
        }
        let good = self.check_messages(batch.iter(), figures);
        let mut verdicts = Vec::with_capacity(portions.len());
        for (mut group, range) in portions {
            let work = work_of(&batch[range.clone()]);
            let rest = work_of(&group.messages);
            // One signature that is not valid decides for the group.
            let is_good = !good[range].contains(&false);
            let is_complete = !is_good || group.messages.is_empty();
            if let Some(payer) = group.payer {
                match (group.is_put_off, is_complete) {
                    (true, true) => budgets.made_up(payer, work + rest),
                    (true, false) => budgets.made_up(payer, work),
                    (false, true) => {}
                    (false, false) => budgets.put_off(payer, rest),
                }
            }
            if is_complete {
                verdicts.push(CheckVerdict {
                    owner: group.owner,
                    payer: group.payer,
                    is_good,
                    work,
                });
            } else {
                assert!(group.payer.is_some(), "own checks are not put off");
                group.is_put_off = true;
                self.waiting.push_back(group);
            }
        }
        verdicts
    }

    /// Returns the work that each peer with checks from earlier rounds may have done in a round: all get the same.
    fn share_of_put_off(&self) -> u64 {
        let put_off = self.waiting.iter().filter(|group| group.is_put_off);
        let payers: BTreeSet<_> = put_off.filter_map(|group| group.payer).collect();
        PEER_ROUND_WORK_MAX / payers.len().max(1) as u64
    }

    /// Returns one verdict for each message. Equal messages are checked once, known ones not at all.
    pub(super) fn check_messages<'a>(
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

    /// Returns the figures of the cache of decoded keys.
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

impl RoundShares {
    /// Takes as many checks of a group as the round has room for. Returns their number.
    fn take(&mut self, group: &CheckGroup, put_off_max: u64, budgets: &PeerBudgets) -> usize {
        let Some(payer) = group.payer else {
            return group.messages.len();
        };
        let (spent, max) = if group.is_put_off {
            (self.put_off.entry(payer).or_default(), put_off_max)
        } else if budgets.has_put_off(&payer) {
            return 0;
        } else {
            (self.fresh.entry(payer).or_default(), PEER_ROUND_WORK_MAX)
        };
        // However many peers wait, each gets at least one check done in a round.
        let max = max.max(P256_WORK);
        let mut count = 0;
        for message in &group.messages {
            let work = work_of([message]);
            if *spent + work > max {
                break;
            }
            *spent += work;
            count += 1;
        }
        count
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

#[cfg(test)]
mod tests {
    use primitives::{KeyPair, Scheme};

    use super::*;

    fn peer(number: u8) -> PartyId {
        PartyId::from_hash(Hash::plain(&[number]))
    }

    /// Returns signatures of a P-256 key, each on another message.
    fn signed(numbers: std::ops::Range<u32>) -> Vec<SignedMessage> {
        let pair = KeyPair::from_seed(Scheme::EcdsaP256, [1; 32]);
        let sign = |number: u32| {
            let message = Hash::plain(&number.to_be_bytes());
            let context = SignatureContext::Transaction;
            SignedMessage {
                key: pair.public().clone(),
                context,
                message,
                signature: pair.sign(context, &message),
            }
        };
        numbers.map(sign).collect()
    }

    struct Bench {
        signatures: Signatures,
        budgets: PeerBudgets,
        figures: Figures,
    }

    impl Bench {
        fn new() -> Self {
            Self {
                signatures: Signatures::new(&KernelOptions::default()),
                budgets: PeerBudgets::default(),
                figures: Figures::default(),
            }
        }

        fn gather(&mut self, number: u64, messages: &[SignedMessage], payer: Option<u8>) {
            let (owner, payer) = (CheckOwner::Notary(number), payer.map(peer));
            let work = self.signatures.gather(owner, messages, payer);
            if let Some(payer) = payer {
                self.budgets.charge(payer, work);
            }
        }

        /// Makes the checks of a round and ends it. Returns the numbers and verdicts, and how many signatures were checked.
        fn round(&mut self) -> (Vec<(u64, bool)>, u64) {
            let before = self.figures.signatures_checked;
            let verdicts = self
                .signatures
                .check_due(&mut self.budgets, &mut self.figures);
            assert!(!self.signatures.is_due());
            self.signatures.end_round(&mut Batch::default());
            self.budgets.end_round(&mut Batch::default());
            let number = |verdict: CheckVerdict| match verdict.owner {
                CheckOwner::Notary(number) => (number, verdict.is_good),
                other => panic!("{other:?}"),
            };
            let checked = self.figures.signatures_checked - before;
            (verdicts.into_iter().map(number).collect(), checked)
        }
    }

    #[test]
    fn checks_beyond_the_share_wait_for_the_next_rounds() {
        let mut bench = Bench::new();
        bench.gather(1, &signed(0..1_200), Some(1));
        bench.gather(2, &signed(2_000..2_001), Some(1));
        bench.gather(3, &signed(3_000..3_001), Some(2));
        bench.gather(4, &signed(4_000..4_600), None);
        // A peer gets half of a round, 512 checks. The node itself gets all that it needs.
        let expected = [
            (vec![(3, true), (4, true)], 512 + 1 + 600),
            (vec![], 512),
            (vec![(1, true), (2, true)], 176 + 1),
        ];
        for (verdicts, checked) in expected {
            assert!(bench.signatures.has_waiting() && bench.signatures.is_due());
            assert_eq!(bench.round(), (verdicts, checked));
            let waits = bench.signatures.has_waiting();
            assert_eq!(bench.budgets.has_put_off(&peer(1)), waits);
            assert!(!waits || !bench.budgets.may_work(&peer(1), Monotonic::START));
            assert!(bench.budgets.may_work(&peer(2), Monotonic::START));
        }
        assert_eq!(bench.round(), (vec![], 0));
    }

    #[test]
    fn a_signature_that_is_not_valid_ends_the_checks_of_its_group() {
        for (bad, rounds) in [(0, 1), (511, 1), (512, 2), (1_199, 3)] {
            let mut bench = Bench::new();
            let mut messages = signed(0..1_200);
            messages[bad].message = Hash::plain(b"other");
            bench.gather(1, &messages, Some(1));
            let found: Vec<_> = (0..3).map(|_| bench.round().0).collect();
            let expected: Vec<_> = (1..=3)
                .map(|round| match round == rounds {
                    true => vec![(1, false)],
                    false => vec![],
                })
                .collect();
            assert_eq!(found, expected, "signature {bad}");
            assert!(!bench.budgets.has_put_off(&peer(1)));
            assert!(!bench.signatures.has_waiting());
        }
    }

    #[test]
    fn peers_whose_checks_were_put_off_share_the_later_rounds() {
        let mut bench = Bench::new();
        for number in 1..=4 {
            let first = u32::from(number) * 10_000;
            bench.gather(number.into(), &signed(first..first + 600), Some(number));
        }
        assert_eq!(bench.round(), (vec![], 4 * 512));
        // Half of a round for all of them together.
        assert_eq!(
            bench.round(),
            (vec![(1, true), (2, true), (3, true), (4, true)], 4 * 88)
        );
        for number in 1..=4 {
            assert!(!bench.budgets.has_put_off(&peer(number)));
        }
    }
}
