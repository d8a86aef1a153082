//! The requests to this notary: their checks, decisions and answers.
//!
//! The proofs of a request are checked as a job, and its signatures together with the others of the round. The engine takes one batch
//! at a time. The store tells which of its states are consumed, and in the round of that answer the batch is decided. One signature
//! covers the batch, and the answers leave with the commit.

use flow::messaging::RequestId;
use ledger::{
    CheckedTearOff, NotaryError, NotaryRequest, NotarySubject, PartyId, TearOffError, TxId,
};
use notary::{BatchDecision, Subject, UniquenessOutcome, Verdict};
use primitives::{Decode, Encode};

use crate::command::{IntakeCommand, IntegrityCommand, NotaryCommand};
use crate::context::Context;
use crate::errors;
use crate::event::Action;
use crate::notarisation::answers::{answer, refuse, refuse_on_older_copy};
use crate::notarisation::requests::{NotTheRequester, Notarisation, put_consumer, put_record};
use crate::notarisation::tear_off_job::{AskedWith, TearOffJob};
use crate::notarisation::views::NotaryViews;
use crate::notarisation::whole::Asks;
use crate::port::{StoreFailure, Table};
use crate::round::CheckOwner;
use crate::rows::{META_JUDGED, META_NOTARY_ACCEPTED};

impl Notarisation {
    /// Carries out a command.
    pub(crate) fn on_command(
        &mut self,
        command: NotaryCommand,
        views: NotaryViews<'_>,
        context: &mut Context,
    ) -> Result<(), StoreFailure> {
        match command {
            NotaryCommand::Notarise { peer, id, body } => {
                self.on_notarise((peer, id), &body, views, context)?;
            }
            NotaryCommand::Proved { asked, tear_off } => self.on_proved(*asked, tear_off, context),
            NotaryCommand::Checked { number, is_good } => {
                self.on_checked(number, is_good, views, context);
            }
            NotaryCommand::Verified {
                number,
                item,
                proof,
            } => self.on_verified(number, item, proof, context),
            NotaryCommand::RefuseVerified { number, error } => {
                self.refuse_verified(number, error, context);
            }
            NotaryCommand::RefuseWhole { number, rejection } => {
                self.refuse_whole(number, &rejection, context);
            }
            NotaryCommand::AskToComeAgain { number } => self.ask_to_come_again(number, context),
            NotaryCommand::Forget { number } => self.forget(number),
            NotaryCommand::UniquenessChecked { number, outcome } => {
                self.on_uniqueness_checked(number, &outcome, views, context);
            }
            NotaryCommand::Answer { peer, id, response } => answer(peer, id, response, context),
            NotaryCommand::RefuseOnOlderCopy { peer, id } => {
                refuse_on_older_copy(peer, id, context);
            }
            NotaryCommand::RefuseOverdue(overdue) => self.refuse_overdue(overdue, context),
            NotaryCommand::EnterAgain(notarised) => {
                self.enter_again(&notarised, views, context)?;
            }
        }
        Ok(())
    }

    fn on_notarise(
        &mut self,
        (peer, id): (PartyId, RequestId),
        body: &[u8],
        views: NotaryViews<'_>,
        context: &mut Context,
    ) -> Result<(), StoreFailure> {
        if views.is_older_copy && !self.is_shared {
            refuse_on_older_copy(peer, id, context);
            return Ok(());
        }
        match self.check_form(peer, body, context) {
            Ok((NotarySubject::TearOff(tear_off), asks)) => {
                // Rate and queue come first, because the check of the tear-off costs more.
                match self.notary.welcome(peer, context.now.monotonic) {
                    Ok(()) => {
                        let asked = (peer, id);
                        let bytes = body.len();
                        let job = TearOffJob { tear_off, bytes };
                        context.jobs.prove(AskedWith { asked, asks }, job);
                    }
                    Err(error) => refuse(peer, id, error, context),
                }
            }
            Ok((NotarySubject::Whole(whole), asks)) => {
                self.on_notarise_whole((peer, id), whole, asks, views, context)?;
            }
            Err(error) => refuse(peer, id, error, context),
        }
        Ok(())
    }

    /// Takes a tear-off whose proofs were checked.
    fn on_proved(
        &mut self,
        AskedWith { asked, asks }: AskedWith,
        tear_off: Result<Box<CheckedTearOff>, TearOffError>,
        context: &mut Context,
    ) {
        match tear_off {
            Ok(tear_off) => {
                let tx = tear_off.id();
                self.check_request(asked, tx, Subject::TearOff(tear_off), asks, context);
            }
            Err(error) => refuse(asked.0, asked.1, NotaryError::invalid(&error), context),
        }
    }

    /// Has the requester's signature checked; then the request is admitted.
    pub(super) fn check_request(
        &mut self,
        (peer, id): (PartyId, RequestId),
        transaction: TxId,
        subject: Subject,
        asks: Asks,
        context: &mut Context,
    ) {
        let message = asks.message(&transaction, &context.identity.notary().id());
        let number = self.number(peer, id);
        self.checking.insert(number, asks.request(number, subject));
        context.check_for(peer, CheckOwner::Notary(number), message);
    }

    /// Handles the verdict on the signature of a requester.
    fn on_checked(
        &mut self,
        number: u64,
        is_good: bool,
        views: NotaryViews<'_>,
        context: &mut Context,
    ) {
        let refusal = if !is_good {
            let text = "the requester's signature is not valid";
            let rejection = errors::rejection(&errors::SIGNATURE_INVALID, text);
            self.checking.remove(&number);
            self.wholes.remove(number);
            NotaryError::InvalidRequest {
                code: rejection.code,
                message: rejection.message,
            }
        } else if let Some(request) = self.checking.remove(&number) {
            match self.notary.admit(request, context.now) {
                Ok(()) => return,
                Err(error) => error,
            }
        } else {
            return self.verify_whole(number, views, context);
        };
        if let Some((peer, id)) = self.answered(number) {
            refuse(peer, id, refusal, context);
        }
    }

    /// Takes the next batch of requests, and asks the store which of their states are consumed.
    pub(crate) fn ask_for_uniqueness(&mut self, out: &mut Vec<Action>) {
        let check = self.notary.ask();
        // A read waits for no commit, so the action is not among those that do.
        out.extend(check.map(Action::CheckUniqueness));
    }

    /// Decides the batch that waited for this answer of the store.
    fn on_uniqueness_checked(
        &mut self,
        number: u64,
        outcome: &UniquenessOutcome,
        views: NotaryViews<'_>,
        context: &mut Context,
    ) {
        if views.is_older_copy && !self.is_shared {
            // The proof of an older copy may have arrived after the question was asked.
            self.refuse_undecided(context);
            return;
        }
        let (commit, now) = (context.commits.next(), context.now.monotonic);
        let decided = match outcome {
            UniquenessOutcome::Found(found) => self.notary.decide(number, found, commit, now),
            UniquenessOutcome::Unavailable => self.notary.unavailable(number, now),
        };
        let Some(mut decision) = decided else {
            return;
        };
        self.write_decision(&mut decision, context);
        count(&decision, context);
        let identity = &context.identity;
        let service = identity.service.as_ref().map(|service| &service.key);
        let Some(key) = service.or_else(|| views.keys.identity_key(identity)) else {
            // Opening the node has checked that it holds its own key.
            return;
        };
        for (number, response) in decision.into_responses(key) {
            let asked_by = self.answered(number);
            self.on_decided(number, &response, context);
            if let Some((peer, id)) = asked_by {
                // The answer comes after the record of the transaction.
                context.command(NotaryCommand::Answer { peer, id, response });
            }
        }
    }

    /// Writes the rows of a decision. The states and records leave the decision.
    fn write_decision(&mut self, decision: &mut BatchDecision, context: &mut Context) {
        context.figures.notary_states += decision.states.len() as u64;
        if self.is_shared {
            // The shared record has entered them. This node's own data does not count them.
            decision.states.clear();
            decision.transactions.clear();
        }
        for (state, transaction) in std::mem::take(&mut decision.states) {
            put_consumer(&state, &transaction, &mut context.round.batch);
        }
        if let Some(judged) = self.notary.take_judged() {
            let mut rows = context.rows::<Notarisation>();
            rows.put(Table::Meta, META_JUDGED, judged.to_bytes());
        }
        if !decision.transactions.is_empty() {
            let more = decision.transactions.len() as u64;
            self.accepted += more;
            let mut rows = context.rows::<Notarisation>();
            rows.put(
                Table::Meta,
                META_NOTARY_ACCEPTED,
                self.accepted.to_be_bytes(),
            );
            context.command(IntegrityCommand::NotaryAccepted(more));
        }
        for (transaction, record) in std::mem::take(&mut decision.transactions) {
            put_record(&transaction, &record, &mut context.round.batch);
        }
        assert!(
            decision.states.is_empty() && decision.transactions.is_empty(),
            "rows of a decision are not written"
        );
    }

    /// Refuses the requests that wait for a decision, because this notary's data is an older copy.
    pub(crate) fn refuse_undecided(&mut self, context: &mut Context) {
        for number in self.notary.take_undecided() {
            let asked_by = self.answered(number);
            if let Some(item) = self.wholes.take_item(number) {
                context.command(IntakeCommand::Drop(item));
            }
            if let Some((peer, id)) = asked_by {
                context.command(NotaryCommand::RefuseOnOlderCopy { peer, id });
            }
        }
    }

    /// Returns the content of a request, if it has the form that this notary takes and is the sender's own.
    fn check_form(
        &self,
        peer: PartyId,
        body: &[u8],
        context: &Context,
    ) -> Result<(NotarySubject, Asks), NotaryError> {
        let request = NotaryRequest::from_bytes(body).map_err(|e| NotaryError::invalid(&e))?;
        let is_whole = matches!(request.subject, NotarySubject::Whole(_));
        self.notary.check_form(is_whole)?;
        let known = context.identity.network.party(&peer);
        if request.requester != peer || known.is_none_or(|party| party.key != request.key) {
            return Err(NotaryError::invalid(&NotTheRequester));
        }
        let asks = Asks {
            requester: request.requester,
            key: request.key,
            signature: request.signature,
        };
        Ok((request.subject, asks))
    }
}

/// Counts a decision for the metrics.
fn count(decision: &BatchDecision, context: &mut Context) {
    let (mut conflicts, mut waits, mut others) = (0, 0, 0);
    for (_, verdict) in &decision.verdicts {
        match verdict {
            Verdict::Accepted(_) => {}
            Verdict::Refused(NotaryError::Conflict { .. }) => conflicts += 1,
            // The time window cannot be judged now.
            Verdict::Refused(NotaryError::Busy { .. }) => waits += 1,
            Verdict::Refused(_) => others += 1,
        }
    }
    let requests = decision.verdicts.len() as u64;
    let figures = &mut context.figures;
    figures.notary_batches += 1;
    figures.notary_batch_requests.record(requests);
    figures.notary_conflicts += conflicts;
    figures.notary_refused += others;
    figures.notary_signed += requests - conflicts - waits - others;
}
