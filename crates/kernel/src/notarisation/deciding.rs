//! The requests to this notary: their checks, decisions and answers.
//!
//! The proofs of a request are checked here, and its signatures together with the others of the round. The engine takes one batch
//! at a time. The store tells which of its states are consumed, and in the round of that answer the batch is decided. One signature
//! covers the batch, and the answers leave with the commit.

use crate::context::Context;
use crate::errors;
use crate::event::Action;
use crate::kernel::Kernel;
use crate::notarisation::answers::{answer, refuse};
use crate::notarisation::requests::{NotTheRequester, Notarisation, put_consumer, put_record};
use crate::notarisation::whole::Asks;
use crate::port::{Reads, StoreFailure, Table};
use crate::round::CheckOwner;
use crate::rows::{META_JUDGED, META_NOTARY_ACCEPTED};
use flow::messaging::RequestId;
use ledger::{NotaryError, NotaryRequest, NotarySubject, PartyId, TxId};
use notary::{Subject, UniquenessAnswer, Verdict};
use primitives::{Decode, Encode};

impl Kernel {
    pub(crate) fn on_notarise(
        &mut self,
        peer: PartyId,
        id: RequestId,
        body: &[u8],
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        match check_form(self.notarisation.as_ref(), peer, body, &self.context) {
            Ok((NotarySubject::TearOff(tear_off), asks)) => {
                // Before the work of checking it.
                let now = self.context.now.monotonic;
                let notarisation = self.notarisation.as_mut();
                let welcome = notarisation.map_or(Ok(()), |n| n.notary.welcome(peer, now));
                let verify = || tear_off.verify().map_err(|e| NotaryError::invalid(&e));
                match welcome.and_then(|()| verify()) {
                    Ok(tear_off) => {
                        let tx = tear_off.id();
                        let subject = Subject::TearOff(Box::new(tear_off));
                        self.check_request(peer, id, tx, subject, asks);
                    }
                    Err(error) => refuse(peer, id, error, &mut self.context),
                }
            }
            Ok((NotarySubject::Whole(whole), asks)) => {
                self.on_notarise_whole(peer, id, whole, asks, reads)?;
            }
            Err(error) => refuse(peer, id, error, &mut self.context),
        }
        Ok(())
    }

    /// Has the requester's signature checked; then the request is admitted.
    pub(crate) fn check_request(
        &mut self,
        peer: PartyId,
        id: RequestId,
        transaction: TxId,
        subject: Subject,
        asks: Asks,
    ) {
        let message = asks.message(&transaction, &self.context.my_id);
        let Some(notarisation) = &mut self.notarisation else {
            return;
        };
        let number = notarisation.number(peer, id);
        notarisation
            .checking
            .insert(number, asks.request(number, subject));
        self.check_for(peer, CheckOwner::Notary(number), message);
    }

    pub(crate) fn on_notary_checked(&mut self, number: u64, good: bool) {
        let now = self.context.now;
        let Some(notarisation) = &mut self.notarisation else {
            return;
        };
        let refusal = if !good {
            let text = "the requester's signature is not valid";
            let rejection = errors::rejection(&errors::SIGNATURE_INVALID, text);
            notarisation.checking.remove(&number);
            notarisation.wholes.remove(number);
            NotaryError::InvalidRequest {
                code: rejection.code,
                message: rejection.message,
            }
        } else if let Some(request) = notarisation.checking.remove(&number) {
            match notarisation.notary.admit(request, now) {
                Ok(()) => return,
                Err(error) => error,
            }
        } else {
            return self.verify_whole(number);
        };
        if let Some((peer, id)) = notarisation.asked_by.remove(&number) {
            refuse(peer, id, refusal, &mut self.context);
        }
    }

    /// Takes the next batch of requests, and asks the store which of their states are consumed.
    pub(crate) fn ask_for_uniqueness(&mut self, out: &mut Vec<Action>) {
        if self.is_rolled_back() || self.judges_from().is_some() {
            return;
        }
        let notarisation = self.notarisation.as_mut();
        let check = notarisation.and_then(|notarisation| notarisation.notary.ask());
        // A read waits for no commit, so the action is not among those that do.
        out.extend(check.map(Action::CheckUniqueness));
    }

    /// Decides the batch that waited for this answer of the store.
    pub(crate) fn on_uniqueness_checked(
        &mut self,
        number: u64,
        found: &UniquenessAnswer,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        if self.is_rolled_back() {
            // The proof may have come after the question.
            self.refuse_undecided();
            return Ok(());
        }
        let (commit, now) = (self.context.commits.next(), self.context.now.monotonic);
        let Some(notarisation) = &mut self.notarisation else {
            return Ok(());
        };
        let Some(mut decision) = notarisation.notary.decide(number, found, commit, now) else {
            return Ok(());
        };
        self.context.figures.notary_batches += 1;
        let requests = decision.verdicts.len() as u64;
        self.context.figures.notary_batch_requests.record(requests);
        self.context.figures.notary_states += decision.states.len() as u64;
        for (state, transaction) in std::mem::take(&mut decision.states) {
            put_consumer(&state, &transaction, &mut self.context.round.batch);
        }
        if let Some(judged) = notarisation.notary.take_judged() {
            self.context.round.batch.of::<Notarisation>().put(
                Table::Meta,
                META_JUDGED,
                judged.to_bytes(),
            );
        }
        if !decision.transactions.is_empty() {
            let accepted = self
                .integrity
                .lives
                .accept(decision.transactions.len() as u64);
            let row = accepted.to_be_bytes();
            self.context.round.batch.of::<Notarisation>().put(
                Table::Meta,
                META_NOTARY_ACCEPTED,
                row,
            );
        }
        for (transaction, record) in std::mem::take(&mut decision.transactions) {
            put_record(&transaction, &record, &mut self.context.round.batch);
        }
        let refused = decision
            .verdicts
            .iter()
            .filter_map(|(_, verdict)| match verdict {
                Verdict::Refused(error) => Some(error),
                Verdict::Accepted(_) => None,
            });
        let (mut conflicts, mut waits, mut others) = (0, 0, 0);
        for error in refused {
            match error {
                NotaryError::Conflict { .. } => conflicts += 1,
                // Its window cannot be judged now.
                NotaryError::Busy { .. } => waits += 1,
                _ => others += 1,
            }
        }
        self.context.figures.notary_conflicts += conflicts;
        self.context.figures.notary_refused += others;
        self.context.figures.notary_signed +=
            decision.verdicts.len() as u64 - conflicts - waits - others;
        let Some(key) = self.keys.identity_key(&self.context.identity) else {
            // Opening the node has checked that it holds its own key.
            return Ok(());
        };
        for (number, response) in decision.into_responses(key) {
            let asked_by = self
                .notarisation
                .as_mut()
                .and_then(|notarisation| notarisation.asked_by.remove(&number));
            self.on_decided(number, &response, reads)?;
            if let Some((peer, id)) = asked_by {
                answer(peer, id, response, &mut self.context);
            }
        }
        Ok(())
    }
}

/// Returns the content of a request, if it has the form that this notary takes and is the sender's own.
fn check_form(
    notarisation: Option<&Notarisation>,
    peer: PartyId,
    body: &[u8],
    context: &Context,
) -> Result<(NotarySubject, Asks), NotaryError> {
    let request = NotaryRequest::from_bytes(body).map_err(|e| NotaryError::invalid(&e))?;
    if let Some(notarisation) = notarisation {
        let is_whole = matches!(request.subject, NotarySubject::Whole(_));
        notarisation.notary.check_form(is_whole)?;
    }
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
