//! Signature checks: gathered over a round, made as one batch, good ones remembered.

use std::collections::HashMap;

use flow::{EffectResult, FlowId};
use ledger::PartyId;
use primitives::{Domain, Hash, PublicKey, Signature, SignatureContext, SignedMessage};

use crate::errors;
use crate::intake::fault::Fault;
use crate::intake::item_id::ItemId;
use crate::kernel::Kernel;
use crate::peers::budget::{GARBAGE_SIGNATURE, work_of};
use crate::port::{Reads, StoreFailure};
use crate::round::{CheckOwner, Work};

/// Weight of a known-good signature in its cache, in bytes.
pub(crate) const KNOWN_BYTES: usize = 64;
/// Weight of a transaction known to be valid in its cache, in bytes.
pub(crate) const VALID_BYTES: usize = 96;

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

impl Kernel {
    /// Adds checks to the round, which a peer may have to pay for; whether there was one to add.
    pub(crate) fn gather(
        &mut self,
        owner: CheckOwner,
        messages: &[SignedMessage],
        payer: Option<PartyId>,
    ) -> bool {
        let before = self.context.round.checks.len();
        for message in messages {
            if self.known_good.contains(&digest(message)) {
                self.known_good.count_hit();
            } else {
                // Counted as a miss when it is checked.
                self.context.round.checks.push((owner, message.clone()));
            }
        }
        let added = self.context.round.checks.get(before..).unwrap_or_default();
        let work = work_of(added.iter().map(|(_, message)| message));
        if let Some(peer) = payer.filter(|peer| work > 0 && *peer != self.context.my_id) {
            self.budgets.charge(peer, work);
        }
        work > 0
    }

    /// Adds one check to the round and charges it to a peer, even if the result is known.
    pub(crate) fn check_for(&mut self, peer: PartyId, owner: CheckOwner, message: SignedMessage) {
        if peer != self.context.my_id {
            self.budgets.charge(peer, work_of([&message]));
        }
        self.context.round.checks.push((owner, message));
    }

    /// Checks the signatures gathered in the round as one batch.
    pub(crate) fn check_signatures(&mut self, reads: &dyn Reads) -> Result<(), StoreFailure> {
        let checks = std::mem::take(&mut self.context.round.checks);
        let verdicts = self.check_messages(checks.iter().map(|(_, message)| message));
        let mut at = 0;
        // The checks of one owner stand side by side.
        while let Some((owner, _)) = checks.get(at) {
            let mut good = true;
            while checks.get(at).is_some_and(|(o, _)| o == owner) {
                good &= verdicts[at];
                at += 1;
            }
            self.on_checked(*owner, good);
        }
        self.settle(reads)
    }

    /// One verdict a message; equal ones are checked once, known ones not at all.
    pub(crate) fn check_messages<'a>(
        &mut self,
        messages: impl Iterator<Item = &'a SignedMessage>,
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
        self.context.figures.signatures_checked += batch.len() as u64;
        if !batch.is_empty() {
            self.context.figures.signature_batches += 1;
            let checks = batch.len() as u64;
            self.context.figures.signature_batch_checks.record(checks);
        }
        for (digest, good) in digests.into_iter().zip(&verdicts) {
            if *good {
                self.known_good.insert(digest, (), KNOWN_BYTES);
            } else {
                self.context.figures.signatures_bad += 1;
            }
        }
        let verdict = |place: Option<usize>| place.is_none_or(|place| verdicts[place]);
        which.into_iter().map(verdict).collect()
    }

    fn on_checked(&mut self, owner: CheckOwner, good: bool) {
        if !good && let Some(peer) = self.sender_of(owner) {
            self.note_garbage(peer, GARBAGE_SIGNATURE);
        }
        match owner {
            CheckOwner::Item(item) if good => self.context.work.push_back(Work::Signed(item)),
            CheckOwner::Item(item) => self.refuse_bad_signature(item),
            CheckOwner::Effect(flow, effect) => self.answer_check(flow, effect, good),
            CheckOwner::Notary(request) => self.on_notary_checked(request, good),
            CheckOwner::Nobody => {}
        }
    }

    /// The peer whose message a check is for.
    fn sender_of(&self, owner: CheckOwner) -> Option<PartyId> {
        match owner {
            CheckOwner::Item(item) => self.intake.get(item)?.from,
            CheckOwner::Effect(flow, _) => self.engine.origin_of(&flow),
            CheckOwner::Notary(number) => self.notarisation.as_ref()?.asker(number),
            CheckOwner::Nobody => None,
        }
    }

    fn refuse_bad_signature(&mut self, item: ItemId) {
        let Some(bad) = self.intake.get(item) else {
            return;
        };
        let text = format!(
            "a signature on transaction {} is not valid",
            bad.transaction.id()
        );
        let rejection = errors::rejection(&errors::SIGNATURE_INVALID, text);
        self.refuse(item, Fault::Final(rejection));
    }

    fn answer_check(&mut self, flow: FlowId, effect: u32, good: bool) {
        let result = if good {
            EffectResult::Done
        } else {
            let text = "a signature is not valid";
            EffectResult::Failed(errors::failed(&errors::SIGNATURE_INVALID, text))
        };
        self.complete(flow, effect, result);
    }

    /// Our own signatures need no check.
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
}
