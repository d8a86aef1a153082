//! The requests to a validating notary. The whole transaction comes in, its back chain is fetched from the requester, and
//! signatures and contracts are checked as for any transaction. Only then the notary decides. A signed transaction is recorded in
//! the same commit, with the signature.
//!
//! ```text
//!  request ─► form, requester ─► accepted before? ──yes──────────────────────────────────► decision ─► answer
//!                                     │ no                                                    ▲
//!                                     └─► bounds, time window, room ─► signatures ─► back chain, contracts
//! ```
//!
//! # Invariants
//! - The time window is judged at the arrival of the request. A request that waits longer for its back chain than
//!   [`notary::DECISION_MS_MAX`] after the end of the window is refused.
//! - A transaction that was accepted before is accepted again without further checks.
//! - A fault of the transaction refuses it. A fault that may pass asks the requester to come again.
//! - A requester has a bounded share of the intake until its requests are decided; if it goes away, those that are not
//!   verified yet are forgotten, and arrive again when it asks again.

use crate::context::Context;
use crate::intake::item_id::ItemId;
use crate::intake::items::Goal;
use crate::kernel::Kernel;
use crate::notarisation::answers::{ask_to_come_again, refuse};
use crate::notarisation::whole::{Asks, COME_AGAIN_MS, Whole};
use crate::port::{Reads, StoreFailure};
use crate::round::CheckOwner;
use flow::messaging::RequestId;
use ledger::{
    NotaryError, NotaryResponse, PartyId, Rejection, SignedTransaction, StateConflict,
    VerifiedTransaction, consuming_hash,
};
use notary::Subject;
use primitives::PublicKey;
use std::sync::Arc;

impl Kernel {
    /// A validating notary is asked.
    pub(crate) fn on_notarise_whole(
        &mut self,
        peer: PartyId,
        id: RequestId,
        transaction: SignedTransaction,
        asks: Asks,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let now = self.context.now;
        let Some(notarisation) = &mut self.notarisation else {
            return Ok(());
        };
        if notarisation.wholes.by_request.contains_key(&(peer, id)) {
            // Asked again while it is on its way: the answer will come.
            return Ok(());
        }
        let arrived = notarisation.notary.arrive(now);
        let tx = transaction.id();
        if notarisation.has_accepted(&tx, reads)? {
            let subject = Subject::Committed(transaction.wire().clone());
            self.check_request(peer, id, tx, subject, asks);
            return Ok(());
        }
        if let Err(error) = notarisation.notary.look_over(transaction.wire(), arrived) {
            refuse(peer, id, error, &mut self.context);
            return Ok(());
        }
        if let Err(error) = notarisation.notary.welcome(peer, now.monotonic) {
            refuse(peer, id, error, &mut self.context);
            return Ok(());
        }
        if !self.has_room_for(&peer, &transaction) {
            ask_to_come_again(peer, id, &mut self.context);
            return Ok(());
        }
        let ours = signed_by_deciding(&transaction, &self.context);
        if let Ok(pending) = transaction.check_signatures(&ours) {
            // It is checked in the same batch as the request, and a good result is remembered.
            self.gather(CheckOwner::Nobody, pending.messages(), Some(peer));
        }
        let message = asks.message(&tx, &self.context.my_id);
        let Some(notarisation) = &mut self.notarisation else {
            return Ok(());
        };
        let number = notarisation.number(peer, id);
        let whole = Whole {
            transaction: Arc::new(transaction),
            asks,
            arrived,
            asked: (peer, id),
            item: None,
        };
        notarisation.wholes.insert(number, whole);
        self.check_for(peer, CheckOwner::Notary(number), message);
        Ok(())
    }

    fn has_room_for(&self, peer: &PartyId, transaction: &SignedTransaction) -> bool {
        let bytes = transaction.wire().bytes().len();
        self.intake.has_room(peer, bytes)
    }

    /// The requester's signature is good: the transaction is verified like any other.
    pub(crate) fn verify_whole(&mut self, number: u64) {
        let Some(notarisation) = &mut self.notarisation else {
            return;
        };
        let Some(whole) = notarisation.wholes.by_number.get(&number) else {
            return;
        };
        let (transaction, peer) = (Arc::clone(&whole.transaction), whole.asked.0);
        if !self.has_room_for(&peer, &transaction) {
            return self.ask_to_come_again(number);
        }
        self.take_in(
            transaction,
            Goal::Notarise { number },
            Some(peer),
            Vec::new(),
        );
    }

    /// A transaction is verified, its back chain recorded: the notary may decide.
    pub(crate) fn on_verified(&mut self, number: u64, item: ItemId, proof: VerifiedTransaction) {
        let refusal = self.admit_whole(number, item, proof);
        let Some(error) = refusal else {
            self.intake.waits_for_decision(item);
            return;
        };
        self.refuse_verified(number, item, error);
    }

    /// Returns the conflict of a transaction with this notary's own ledger, if there is one.
    pub(crate) fn conflict_in_book(
        &mut self,
        transaction: &SignedTransaction,
        reads: &dyn Reads,
    ) -> Result<Option<NotaryError>, StoreFailure> {
        if self.book.contains(&transaction.id(), reads)? {
            return Ok(None);
        }
        let Some((input, seq)) =
            self.contradictions
                .consumed_before(transaction.wire(), &self.book, reads)?
        else {
            return Ok(None);
        };
        let consumer = self.book.recorded_at(seq, reads)?.id();
        let conflict = StateConflict {
            input,
            consumed_by: consuming_hash(&consumer),
            is_reference: false,
        };
        Ok(Some(NotaryError::conflict(vec![conflict])))
    }

    /// Refuses a transaction that is verified and was not admitted to a decision.
    pub(crate) fn refuse_verified(&mut self, number: u64, item: ItemId, error: NotaryError) {
        self.take_out(item);
        let Some(notarisation) = &mut self.notarisation else {
            return;
        };
        notarisation.wholes.remove(number);
        if let Some((peer, id)) = notarisation.answered(number) {
            refuse(peer, id, error, &mut self.context);
        }
    }

    fn admit_whole(
        &mut self,
        number: u64,
        item: ItemId,
        proof: VerifiedTransaction,
    ) -> Option<NotaryError> {
        let notarisation = self.notarisation.as_mut()?;
        let whole = notarisation.wholes.verified(number, item)?;
        let subject = Subject::verified(proof, whole.transaction.wire().clone())?;
        let (request, arrived) = (whole.asks.clone().request(number, subject), whole.arrived);
        notarisation.notary.admit_arrived(request, arrived).err()
    }

    /// Refuses the requests that wait for a back chain and can no longer be decided, which makes room for others. The requester
    /// chooses when it shows the back chain. Without this end it would choose the time of the signature as well.
    pub(crate) fn refuse_overdue(&mut self) {
        let now = self.context.now.monotonic;
        let Some(notarisation) = &mut self.notarisation else {
            return;
        };
        notarisation.notary.advance(now);
        let overdue = notarisation.wholes.overdue(now);
        if overdue.is_empty() {
            return;
        }
        for item in self.intake.unverified_requests(&overdue) {
            self.take_out(item);
        }
        for number in overdue {
            let Some(notarisation) = &mut self.notarisation else {
                return;
            };
            let whole = notarisation.wholes.take(number);
            let asked = notarisation.answered(number);
            let (Some(whole), Some((peer, id))) = (whole, asked) else {
                continue;
            };
            let judged = notarisation
                .notary
                .judge_wait(whole.transaction.wire(), whole.arrived);
            // The clock may have been put in doubt, or the time of the arrival may have been judged ahead of it: busy then.
            let error = judged.err().unwrap_or(NotaryError::Busy {
                eta_ms: COME_AGAIN_MS,
            });
            refuse(peer, id, error, &mut self.context);
        }
    }

    /// Records the transactions that the notary signs, with the signature and in the same commit.
    pub(crate) fn on_decided(
        &mut self,
        number: u64,
        response: &NotaryResponse,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let whole = self
            .notarisation
            .as_mut()
            .and_then(|notarisation| notarisation.wholes.take(number));
        let Some(whole) = whole else {
            return Ok(());
        };
        if let Some(item) = whole.item {
            self.take_out(item);
        }
        if let NotaryResponse::Signed(signature) = response
            && !self.book.contains(&whole.transaction.id(), reads)?
        {
            let signed = (*whole.transaction).clone().with(signature.clone());
            self.record(&Arc::new(signed), reads)?;
        }
        Ok(())
    }

    /// The transaction is not valid, for good.
    pub(crate) fn refuse_whole(&mut self, number: u64, rejection: &Rejection) {
        let Some(notarisation) = &mut self.notarisation else {
            return;
        };
        notarisation.wholes.remove(number);
        if let Some((peer, id)) = notarisation.answered(number) {
            refuse(
                peer,
                id,
                NotaryError::transaction_invalid(rejection),
                &mut self.context,
            );
        }
    }

    /// Nothing is known of the transaction yet, and it can't be verified now.
    pub(crate) fn ask_to_come_again(&mut self, number: u64) {
        let Some(notarisation) = &mut self.notarisation else {
            return;
        };
        notarisation.wholes.remove(number);
        if let Some((peer, id)) = notarisation.answered(number) {
            ask_to_come_again(peer, id, &mut self.context);
        }
    }

    /// Drops the unverified requests of a requester that is gone, which makes room for others.
    pub(crate) fn forget_notarisations_of(&mut self, peer: PartyId) {
        for item in self.intake.unverified_of(&peer) {
            let taken = self.take_out(item);
            let goal = taken.map(|item| item.goal);
            if let (Some(Goal::Notarise { number }), Some(notarisation)) =
                (goal, &mut self.notarisation)
            {
                notarisation.wholes.remove(number);
                notarisation.answered(number);
            }
        }
    }
}

/// Returns the keys whose signature a transaction may lack because this notary gives it by deciding: its own key, unless a
/// command needs that key too and lacks its signature. A requester of a decision must not obtain consent to a command with
/// it.
pub(crate) fn signed_by_deciding(
    transaction: &SignedTransaction,
    context: &Context,
) -> Vec<PublicKey> {
    let wire = transaction.wire();
    let Some(notary) = wire.notary().filter(|notary| notary.id() == context.my_id) else {
        return Vec::new();
    };
    let ours = notary.key.leaf_keys();
    let missing = transaction.missing_parties();
    let mut missing = missing.iter().flat_map(PublicKey::leaf_keys);
    if missing.any(|leaf| ours.contains(&leaf)) {
        return Vec::new();
    }
    vec![notary.key.clone()]
}
