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

use std::collections::BTreeSet;
use std::sync::Arc;

use flow::messaging::RequestId;
use ledger::{
    NotaryError, NotaryResponse, PartyId, Rejection, SignedTransaction, VerifiedTransaction,
};
use notary::Subject;

use crate::command::{Command, IntakeCommand, NotaryCommand};
use crate::context::Context;
use crate::intake::goal::Goal;
use crate::intake::item_id::ItemId;
use crate::notarisation::answers::{ask_to_come_again, refuse};
use crate::notarisation::own_signature::signed_by_deciding;
use crate::notarisation::requests::Notarisation;
use crate::notarisation::views::NotaryViews;
use crate::notarisation::whole::{Asks, COME_AGAIN_MS, Whole};
use crate::port::StoreFailure;
use crate::round::CheckOwner;

impl Notarisation {
    /// Handles a request that shows the whole transaction.
    pub(super) fn on_notarise_whole(
        &mut self,
        (peer, id): (PartyId, RequestId),
        transaction: SignedTransaction,
        asks: Asks,
        views: NotaryViews<'_>,
        context: &mut Context,
    ) -> Result<(), StoreFailure> {
        let now = context.now;
        if self.wholes.by_request.contains_key(&(peer, id)) {
            // The request is a repetition of one in progress, which will be answered.
            return Ok(());
        }
        let arrived = self.notary.arrive(now);
        let tx = transaction.id();
        if self.has_accepted(&tx, views.reads)? {
            let subject = Subject::Committed(transaction.wire().clone());
            self.check_request((peer, id), tx, subject, asks, context);
            return Ok(());
        }
        if let Err(error) = self.notary.look_over(transaction.wire(), arrived) {
            refuse(peer, id, error, context);
            return Ok(());
        }
        if let Err(error) = self.notary.welcome(peer, now.monotonic) {
            refuse(peer, id, error, context);
            return Ok(());
        }
        if !views.has_room_for(&peer, &transaction) {
            ask_to_come_again(peer, id, context);
            return Ok(());
        }
        let ours = signed_by_deciding(&transaction, context);
        if let Ok(pending) = transaction.check_signatures(&ours) {
            // It is checked in the same batch as the request, and a good result is remembered.
            context.gather(CheckOwner::Nobody, pending.messages(), Some(peer));
        }
        let message = asks.message(&tx, &context.my_id);
        let number = self.number(peer, id);
        let whole = Whole {
            transaction: Arc::new(transaction),
            asks,
            arrived,
            asked: (peer, id),
            item: None,
        };
        self.wholes.insert(number, whole);
        context.check_for(peer, CheckOwner::Notary(number), message);
        Ok(())
    }

    /// Hands a transaction to the intake for verification, because the signature of its requester is good.
    pub(super) fn verify_whole(
        &mut self,
        number: u64,
        views: NotaryViews<'_>,
        context: &mut Context,
    ) {
        let Some(whole) = self.wholes.by_number.get(&number) else {
            return;
        };
        let (transaction, peer) = (Arc::clone(&whole.transaction), whole.asked.0);
        if !views.has_room_for(&peer, &transaction) {
            return self.ask_to_come_again(number, context);
        }
        context.command(IntakeCommand::TakeIn {
            transaction,
            goal: Goal::Notarise { number },
            from: Some(peer),
        });
    }

    /// Takes a verified transaction, whose back chain is recorded, to the decision.
    pub(super) fn on_verified(
        &mut self,
        number: u64,
        item: ItemId,
        proof: VerifiedTransaction,
        context: &mut Context,
    ) {
        match self.admit_whole(number, item, proof) {
            None => context.command(IntakeCommand::AwaitDecision(item)),
            Some(error) => {
                context.command(IntakeCommand::Drop(item));
                context.command(NotaryCommand::RefuseVerified { number, error });
            }
        }
    }

    /// Refuses a transaction that is verified and was not admitted to a decision.
    pub(super) fn refuse_verified(
        &mut self,
        number: u64,
        error: NotaryError,
        context: &mut Context,
    ) {
        self.wholes.remove(number);
        if let Some((peer, id)) = self.answered(number) {
            refuse(peer, id, error, context);
        }
    }

    fn admit_whole(
        &mut self,
        number: u64,
        item: ItemId,
        proof: VerifiedTransaction,
    ) -> Option<NotaryError> {
        let whole = self.wholes.verified(number, item)?;
        let subject = Subject::verified(proof, whole.transaction.wire().clone())?;
        let (request, arrived) = (whole.asks.clone().request(number, subject), whole.arrived);
        self.notary.admit_arrived(request, arrived).err()
    }

    /// Looks for requests that wait for a back chain and can no longer be decided. They are refused, which makes room for others. The
    /// requester chooses when it shows the back chain. Without this end it would choose the time of the signature as well.
    pub(crate) fn on_time(&mut self, context: &mut Context) {
        let now = context.now.monotonic;
        self.notary.advance(now);
        let overdue = self.wholes.overdue(now);
        if overdue.is_empty() {
            return;
        }
        context.command(IntakeCommand::DropRequests(overdue.clone()));
        context.command(NotaryCommand::RefuseOverdue(overdue));
    }

    /// Refuses requests that can no longer be decided.
    pub(super) fn refuse_overdue(&mut self, overdue: BTreeSet<u64>, context: &mut Context) {
        for number in overdue {
            let whole = self.wholes.take(number);
            let asked = self.answered(number);
            let (Some(whole), Some((peer, id))) = (whole, asked) else {
                continue;
            };
            let wire = whole.transaction.wire();
            let judged = self.notary.judge_wait(wire, whole.arrived);
            // The clock may have been put in doubt, or the time of the arrival may have been judged ahead of it: busy then.
            let error = judged.err().unwrap_or(NotaryError::Busy {
                eta_ms: COME_AGAIN_MS,
            });
            refuse(peer, id, error, context);
        }
    }

    /// Has a transaction recorded that the notary signs, with the signature and in the same commit.
    pub(super) fn on_decided(
        &mut self,
        number: u64,
        response: &NotaryResponse,
        context: &mut Context,
    ) {
        let Some(whole) = self.wholes.take(number) else {
            return;
        };
        if let Some(item) = whole.item {
            context.command(IntakeCommand::Drop(item));
        }
        if let NotaryResponse::Signed(signature) = response {
            let signed = (*whole.transaction).clone().with(signature.clone());
            context.command(Command::Record(Arc::new(signed)));
        }
    }

    /// Refuses a transaction that is not valid.
    pub(super) fn refuse_whole(
        &mut self,
        number: u64,
        rejection: &Rejection,
        context: &mut Context,
    ) {
        self.wholes.remove(number);
        if let Some((peer, id)) = self.answered(number) {
            refuse(
                peer,
                id,
                NotaryError::transaction_invalid(rejection),
                context,
            );
        }
    }

    /// Asks the requester to repeat a request whose transaction cannot be verified now. Nothing about it is kept.
    pub(super) fn ask_to_come_again(&mut self, number: u64, context: &mut Context) {
        self.wholes.remove(number);
        if let Some((peer, id)) = self.answered(number) {
            ask_to_come_again(peer, id, context);
        }
    }

    /// Forgets a request whose requester has disconnected.
    pub(super) fn forget(&mut self, number: u64) {
        self.wholes.remove(number);
        self.answered(number);
    }
}
