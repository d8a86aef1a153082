//! The round's signature checks, and their results for those that wait for them.

use flow::{EffectResult, FlowId};
use ledger::PartyId;
use primitives::SignedMessage;

use crate::errors;
use crate::intake::fault::Fault;
use crate::intake::item_id::ItemId;
use crate::kernel::Kernel;
use crate::peers::budget::GARBAGE_SIGNATURE;
use crate::port::{Reads, StoreFailure};
use crate::round::{CheckOwner, Work};

impl Kernel {
    /// Adds checks to the round and charges them to a peer, if there is one. Returns whether there was a check to add.
    pub(crate) fn gather(
        &mut self,
        owner: CheckOwner,
        messages: &[SignedMessage],
        payer: Option<PartyId>,
    ) -> bool {
        let work = self.signatures.gather(owner, messages);
        self.charge(payer, work);
        work > 0
    }

    /// Charges work to a peer, if it is done for one.
    pub(crate) fn charge(&mut self, payer: Option<PartyId>, work: u64) {
        if let Some(peer) = payer.filter(|peer| work > 0 && *peer != self.context.my_id) {
            self.budgets.charge(peer, work);
        }
    }

    /// Adds one check to the round and charges it to a peer, even if the result is known.
    pub(crate) fn check_for(&mut self, peer: PartyId, owner: CheckOwner, message: SignedMessage) {
        let work = self.signatures.add(owner, message);
        self.charge(Some(peer), work);
    }

    /// Checks the signatures gathered in the round as one batch.
    pub(crate) fn check_signatures(&mut self, reads: &dyn Reads) -> Result<(), StoreFailure> {
        for (owner, good) in self.signatures.check_waiting(&mut self.context.figures) {
            self.on_checked(owner, good);
        }
        self.settle(reads)
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
            CheckOwner::Effect(flow, _) => self.flows.engine().origin_of(&flow),
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
}
