//! Signature checks: gathered over a round, made as one batch, good ones remembered.
//!
//! One transaction may carry thousands of signatures, which take longer than a round may. So checks that a peer causes beyond its rate
//! are put off ([`super::put_off`]): a thread beside the rounds makes them, and their verdict comes later.

use ledger::PartyId;
use primitives::collections::HashMap;
use primitives::{
    CheckWorkers, Domain, Hash, Monotonic, PublicKey, Signature, SignatureChecker,
    SignatureContext, SignedMessage,
};

use crate::cache::GenerationCache;
use crate::event::SignatureBatch;
use crate::figures::{CacheFigures, Figures};
use crate::intake::put_off::PutOffChecks;
use crate::options::KernelOptions;
use crate::part::Part;
use crate::peers::budget::{PeerBudgets, work_of};
use crate::round::{CheckOwner, CheckVerdict};
use crate::writes::Batch;

/// Weight of a known-good signature in its cache, in bytes.
const KNOWN_BYTES: usize = 64;

/// Checks that belong together, and have one verdict.
#[derive(Debug)]
struct CheckGroup {
    owner: CheckOwner,
    /// The peer that caused them; `None` for checks of this node itself, which are never put off.
    payer: Option<PartyId>,
    messages: Vec<SignedMessage>,
    /// The number of the group that was put off, if this is a portion of one.
    portion_of: Option<u64>,
}

/// The signatures that wait for the round's check, and those known to be good.
pub(crate) struct Signatures {
    checker: SignatureChecker,
    /// Signed messages known to be good: our own, and those checked before.
    known_good: GenerationCache<Hash, ()>,
    /// Checks of this round in the order of their arrival. The messages that a round takes in bound them.
    due: Vec<CheckGroup>,
    put_off: PutOffChecks,
    /// Work of checks that rounds make for a peer in a millisecond.
    per_ms: u64,
}

impl Part for Signatures {
    fn end_round(&mut self, _: &mut Batch) {
        assert!(self.due.is_empty(), "a round ends with checks left");
    }
}

impl Signatures {
    /// Creates the part without any signature.
    pub(crate) fn new(options: &KernelOptions) -> Self {
        Self {
            checker: SignatureChecker::with_budget(options.keys_bytes),
            known_good: GenerationCache::new(options.known_signatures_bytes),
            due: Vec::new(),
            put_off: PutOffChecks::default(),
            per_ms: options.peer_check_rate,
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
            self.due.push(CheckGroup {
                owner,
                payer,
                messages,
                portion_of: None,
            });
        }
        work
    }

    /// Returns whether checks wait for this round's batch.
    pub(crate) fn is_due(&self) -> bool {
        !self.due.is_empty()
    }

    /// Makes the checks of the round as one batch, within each peer's rate, and puts the others off. Returns the verdicts that are
    /// complete.
    pub(crate) fn check_due(
        &mut self,
        budgets: &mut PeerBudgets,
        now: Monotonic,
        workers: &dyn CheckWorkers,
        figures: &mut Figures,
    ) -> Vec<CheckVerdict> {
        let mut batch = Vec::new();
        let mut groups = Vec::with_capacity(self.due.len());
        for mut group in std::mem::take(&mut self.due) {
            let count = within_rate(&group, self.per_ms, budgets, now);
            let rest = group.messages.split_off(count);
            let first = batch.len();
            batch.append(&mut group.messages);
            group.messages = rest;
            groups.push((group, first..batch.len()));
        }
        let good = self.check_messages(batch.iter(), workers, figures);
        let mut verdicts = Vec::with_capacity(groups.len());
        for (group, range) in groups {
            let work = work_of(&batch[range.clone()]);
            // One signature that is not valid decides for the group.
            let is_good = !good[range].contains(&false);
            if let Some(number) = group.portion_of {
                let verdict = self.put_off.portion_checked(number, work, is_good, budgets);
                verdicts.extend(verdict);
                continue;
            }
            match group.payer {
                Some(peer) if is_good && !group.messages.is_empty() => {
                    budgets.put_off(peer, work_of(&group.messages));
                    self.put_off.add(group.owner, peer, group.messages);
                }
                payer => verdicts.push(CheckVerdict {
                    owner: group.owner,
                    payer,
                    is_good,
                    work,
                }),
            }
        }
        verdicts
    }

    /// Adds checks that were put off to the round, as many as the rates of their peers allow.
    pub(crate) fn take_portions(&mut self, budgets: &mut PeerBudgets, now: Monotonic) {
        let portions = self.put_off.take_portions(budgets, self.per_ms, now);
        self.due
            .extend(portions.into_iter().map(|portion| CheckGroup {
                owner: portion.owner,
                payer: None,
                messages: portion.messages,
                portion_of: Some(portion.group),
            }));
    }

    /// Returns the time from which a round may make checks that were put off.
    pub(crate) fn next_portions(&self, budgets: &PeerBudgets) -> Option<Monotonic> {
        self.put_off.next_portions(budgets, self.per_ms)
    }

    /// Returns checks that were put off, for the thread that makes them, unless it has some already.
    pub(crate) fn next_put_off(&mut self) -> Option<SignatureBatch> {
        self.put_off.next_batch()
    }

    /// Takes the results of checks that were put off. Returns the verdicts that are complete.
    pub(crate) fn put_off_checked(
        &mut self,
        batch: &SignatureBatch,
        good: &[bool],
        budgets: &mut PeerBudgets,
        figures: &mut Figures,
    ) -> Vec<CheckVerdict> {
        figures.note_batch(good);
        figures.signatures_put_off += good.len() as u64;
        for (message, _) in batch.messages.iter().zip(good).filter(|(_, good)| **good) {
            self.known_good.insert(digest(message), (), KNOWN_BYTES);
        }
        self.put_off.checked(batch, good, budgets)
    }

    /// Returns one verdict for each message. Equal messages are checked once, known ones not at all.
    pub(super) fn check_messages<'a>(
        &mut self,
        messages: impl Iterator<Item = &'a SignedMessage>,
        workers: &dyn CheckWorkers,
        figures: &mut Figures,
    ) -> Vec<bool> {
        let mut places: HashMap<Hash, usize> = HashMap::default();
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
        let count = batch.len();
        let verdicts = self.checker.check_batch_on(batch, count, workers);
        assert_eq!(count, verdicts.len(), "a batch has one verdict each");
        figures.note_batch(&verdicts);
        for (digest, _) in digests
            .into_iter()
            .zip(&verdicts)
            .filter(|(_, good)| **good)
        {
            self.known_good.insert(digest, (), KNOWN_BYTES);
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

/// Returns the number of a group's checks that this round may make.
fn within_rate(
    group: &CheckGroup,
    per_ms: u64,
    budgets: &mut PeerBudgets,
    now: Monotonic,
) -> usize {
    let Some(payer) = group.payer else {
        return group.messages.len();
    };
    if budgets.has_put_off(&payer) {
        return 0;
    }
    let mut messages = group.messages.iter();
    let beyond = messages.position(|it| !budgets.takes_check(payer, work_of([it]), per_ms, now));
    // None is beyond the rate.
    beyond.unwrap_or(group.messages.len())
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
    use primitives::{InlineChecks, KeyPair, Scheme};

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
        ms: u64,
    }

    /// Numbers of groups with their verdicts.
    type Verdicts = Vec<(u64, bool)>;

    impl Bench {
        fn new() -> Self {
            Self {
                signatures: Signatures::new(&KernelOptions::default()),
                budgets: PeerBudgets::default(),
                figures: Figures::default(),
                ms: 1_000_000,
            }
        }

        fn gather(&mut self, number: u64, messages: &[SignedMessage], payer: Option<u8>) {
            let (owner, payer) = (CheckOwner::Notary(number), payer.map(peer));
            let work = self.signatures.gather(owner, messages, payer);
            if let Some(payer) = payer {
                self.budgets.charge(payer, work);
            }
        }

        /// Makes the checks of a round and ends it. Returns the verdicts, and how many signatures were checked.
        fn round(&mut self) -> (Verdicts, u64) {
            let before = self.figures.signatures_checked;
            let now = Monotonic::from_ms(self.ms);
            let verdicts =
                self.signatures
                    .check_due(&mut self.budgets, now, &InlineChecks, &mut self.figures);
            assert!(!self.signatures.is_due());
            self.signatures.end_round(&mut Batch::default());
            self.budgets.end_round(&mut Batch::default());
            (numbers(verdicts), self.figures.signatures_checked - before)
        }

        /// Checks the next batch beside the rounds. Returns the verdicts, and how many signatures were checked.
        fn beside(&mut self) -> Option<(Verdicts, u64)> {
            let batch = self.signatures.next_put_off()?;
            assert_eq!(self.signatures.next_put_off(), None, "one is out");
            let good = SignatureChecker::new().check_batch(&batch.messages);
            let count = good.len() as u64;
            let (budgets, figures) = (&mut self.budgets, &mut self.figures);
            let verdicts = self
                .signatures
                .put_off_checked(&batch, &good, budgets, figures);
            Some((numbers(verdicts), count))
        }
    }

    fn numbers(verdicts: Vec<CheckVerdict>) -> Verdicts {
        let number = |verdict: CheckVerdict| match verdict.owner {
            CheckOwner::Notary(number) => (number, verdict.is_good),
            other => panic!("{other:?}"),
        };
        verdicts.into_iter().map(number).collect()
    }

    #[test]
    fn checks_beyond_the_rate_are_made_beside_the_rounds() {
        let mut bench = Bench::new();
        bench.gather(1, &signed(0..400), Some(1));
        bench.gather(2, &signed(2_000..2_001), Some(1));
        bench.gather(3, &signed(3_000..3_001), Some(2));
        bench.gather(4, &signed(4_000..4_600), None);
        // A quiet peer gets the checks of 100 ms at once, which are 62. The node itself gets all that it needs.
        assert_eq!(bench.round(), (vec![(3, true), (4, true)], 62 + 1 + 600));
        let now = Monotonic::from_ms(bench.ms);
        for (verdicts, checked) in [(vec![], 256), (vec![(1, true), (2, true)], 83)] {
            assert!(bench.budgets.has_put_off(&peer(1)));
            assert!(!bench.budgets.may_work(&peer(1), now));
            assert_eq!(bench.budgets.works_from(&peer(1), now), None);
            assert!(bench.budgets.may_work(&peer(2), now));
            assert_eq!(bench.beside(), Some((verdicts, checked)));
        }
        assert!(bench.budgets.may_work(&peer(1), now));
        assert_eq!(bench.beside(), None);
        assert_eq!(bench.figures.signatures_put_off, 256 + 83);
        // They are known now.
        bench.gather(5, &signed(0..400), Some(1));
        assert!(!bench.signatures.is_due());
    }

    #[test]
    fn a_peer_gets_the_checks_of_the_time_that_has_passed() {
        let mut bench = Bench::new();
        let mut first = 0;
        for (ms, checked) in [(0, 62), (0, 0), (8, 5), (10_000, 62)] {
            bench.ms += ms;
            bench.gather(0, &signed(first..first + 100), Some(1));
            first += 100;
            assert_eq!(bench.round().1, checked, "{ms} ms later");
            bench.beside().expect("the others");
        }
    }

    #[test]
    fn a_signature_that_is_not_valid_ends_the_checks_of_its_group() {
        for (bad, batches) in [(0, 0), (61, 0), (62, 1), (317, 1), (318, 2), (599, 3)] {
            let mut bench = Bench::new();
            let mut messages = signed(0..600);
            messages[bad].message = Hash::plain(b"other");
            bench.gather(1, &messages, Some(1));
            let mut found = vec![bench.round().0];
            found.extend(std::iter::from_fn(|| Some(bench.beside()?.0)));
            let mut expected = vec![vec![]; batches];
            expected.push(vec![(1, false)]);
            assert_eq!(found, expected, "signature {bad}");
            assert!(!bench.budgets.has_put_off(&peer(1)));
        }
    }

    #[test]
    fn peers_whose_checks_were_put_off_share_each_batch() {
        let mut bench = Bench::new();
        for (number, count) in [(1, 500), (2, 100), (3, 200), (4, 126)] {
            let first = u32::from(number) * 10_000;
            bench.gather(number.into(), &signed(first..first + count), Some(number));
        }
        assert_eq!(bench.round(), (vec![], 4 * 62));
        for expected in [
            (vec![(2, true), (4, true)], 64 + 38 + 64 + 64),
            (vec![(3, true)], 128 + 74),
            (vec![(1, true)], 246),
        ] {
            assert_eq!(bench.beside(), Some(expected));
        }
        for number in 1..=4 {
            assert!(!bench.budgets.has_put_off(&peer(number)));
        }
    }

    #[test]
    fn checks_that_were_put_off_progress_without_the_thread() {
        let mut bench = Bench::new();
        bench.gather(1, &signed(0..180), Some(1));
        assert_eq!(bench.round(), (vec![], 62));
        // 62 checks take the rate of 99.2 ms. One batch is out all the time.
        let batch = bench.signatures.next_put_off().expect("a batch");
        assert_eq!(batch.messages.len(), 118);
        bench.gather(2, &signed(1_000..1_180), Some(2));
        assert_eq!(bench.round(), (vec![], 62));
        for (ms, verdicts, checked) in [
            (99, vec![], 0),
            (1, vec![], 62),
            (99, vec![], 0),
            (1, vec![(2, true)], 56),
        ] {
            bench.ms += ms;
            let now = Monotonic::from_ms(bench.ms);
            bench.signatures.take_portions(&mut bench.budgets, now);
            assert_eq!(bench.signatures.is_due(), checked > 0);
            assert_eq!(bench.round(), (verdicts, checked));
        }
        assert!(!bench.budgets.has_put_off(&peer(2)));
        assert_eq!(bench.signatures.next_portions(&bench.budgets), None);
    }

    #[test]
    fn a_verdict_does_not_wait_for_signatures_that_are_out() {
        let mut bench = Bench::new();
        let mut messages = signed(0..400);
        messages[399].message = Hash::plain(b"other");
        bench.gather(1, &messages, Some(1));
        bench.round();
        let batch = bench.signatures.next_put_off().expect("a batch");
        bench.ms += 100;
        let now = Monotonic::from_ms(bench.ms);
        bench.signatures.take_portions(&mut bench.budgets, now);
        assert_eq!(bench.round(), (vec![(1, false)], 62));
        assert!(!bench.budgets.has_put_off(&peer(1)));
        // The peer goes on before the batch returns.
        bench.gather(2, &signed(1_000..1_100), Some(1));
        assert_eq!(bench.round(), (vec![], 0));
        let good = vec![true; batch.messages.len()];
        let (budgets, figures) = (&mut bench.budgets, &mut bench.figures);
        let verdicts = bench
            .signatures
            .put_off_checked(&batch, &good, budgets, figures);
        assert_eq!(verdicts, []);
        assert_eq!(bench.beside(), Some((vec![(2, true)], 100)));
    }
}
