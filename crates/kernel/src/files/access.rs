//! The rule for access to files: a party may have a file if it takes part in a transaction that lists it, is owed that
//! transaction, or is asked to sign it.

use std::cell::RefCell;
use std::collections::BTreeMap;

use flow::FlowEngine;
use ledger::{PartyId, SignedTransaction, TxId};
use primitives::PublicKey;

use super::events::Files;
use super::permits::PermitRequest;
use crate::context::Context;
use crate::event::Action;
use crate::intake::concerns::concerns;
use crate::keys::KeyBook;
use crate::ledger_book::Book;
use crate::peers::budget::contract_work;
use crate::peers::unanswered::Unanswered;
use crate::port::{Reads, StoreFailure};

/// Read-only views of the parts that know the participants of transactions and sessions.
pub(crate) struct Participation<'a> {
    pub(crate) engine: &'a FlowEngine,
    pub(crate) book: &'a Book,
    pub(crate) unanswered: &'a Unanswered,
    pub(crate) keys: &'a KeyBook,
}

impl Files {
    /// Puts a peer's request for a file off to a later round if the peer has caused its share of the work of this one. Returns false if it
    /// is to be decided now.
    pub(crate) fn puts_off(&mut self, request: PermitRequest, context: &Context) -> bool {
        !context.may_work(&request.peer) && self.permits.push(request)
    }

    /// Takes out a request that was put off and can be decided in this round. If there is none, sets the time of the next attempt.
    pub(crate) fn next_permit(&mut self, context: &Context) -> Option<PermitRequest> {
        let next = self.permits.pop(context);
        if next.is_none() {
            self.permits.plan(context);
        }
        next
    }

    /// Answers a peer that asks for a file, and charges it for the look-ups. The answer is the same for a file that is not here and for
    /// one that the peer may not have.
    pub(crate) fn on_permit(
        &mut self,
        request: PermitRequest,
        others: &Participation<'_>,
        context: &mut Context,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let PermitRequest { peer, hash, .. } = request;
        let mut work = 1;
        let offer = match self.may_have(&request, others, &mut work, context, reads)? {
            true => self.book.get(&hash, reads)?.map(|row| row.offer()),
            false => None,
        };
        context.charge(Some(peer), work);
        context.act(Action::PermitFile { peer, hash, offer });
        Ok(())
    }

    /// Returns whether a peer may have a file. Adds the work of the decision to `work`.
    fn may_have(
        &self,
        request: &PermitRequest,
        others: &Participation<'_>,
        work: &mut u64,
        context: &Context,
        reads: &dyn Reads,
    ) -> Result<bool, StoreFailure> {
        let (peer, hash, id) = (request.peer, &request.hash, &request.transaction);
        let proposing = self.proposals.flows_with(id, hash);
        let engine = others.engine;
        if proposing.iter().any(|flow| engine.speaks_with(flow, &peer)) {
            return Ok(true);
        }
        let Some(recorded) = others.book.read(id, reads)? else {
            return Ok(false);
        };
        let transaction = &recorded.transaction;
        *work += contract_work(transaction.wire());
        if !transaction.wire().attachments().contains(hash) {
            return Ok(false);
        }
        Ok(others.unanswered.owes(&peer, id)
            || others.takes_part(transaction, peer, work, context, reads)?)
    }
}

impl Participation<'_> {
    /// Returns whether a peer owns or takes part in a state that a recorded transaction makes or consumes, or had to sign the
    /// transaction. Counts only keys whose owners this node knows. Adds the work of further look-ups to `work`.
    fn takes_part(
        &self,
        transaction: &SignedTransaction,
        peer: PartyId,
        work: &mut u64,
        context: &Context,
        reads: &dyn Reads,
    ) -> Result<bool, StoreFailure> {
        let failure = RefCell::new(None);
        let owners = self.keys.owners(context, reads);
        let is_theirs = |key: &PublicKey| match owners.owner_of(key) {
            Ok(owner) => owner == Some(peer),
            Err(error) => {
                failure.replace(Some(error));
                false
            }
        };
        let mut theirs = concerns(transaction, context, &is_theirs);
        // Each transaction is read once, however many of its states are consumed. It may be large.
        let mut consumed: BTreeMap<TxId, Vec<u32>> = BTreeMap::new();
        for reference in transaction.wire().inputs() {
            let indices = consumed.entry(reference.tx).or_default();
            indices.push(reference.index);
        }
        for (id, indices) in consumed {
            if theirs {
                break;
            }
            let Some(made) = self.book.read(&id, reads)? else {
                continue;
            };
            let wire = made.transaction.wire();
            *work += contract_work(wire);
            theirs = indices.iter().any(|index| {
                let state = wire.output(*index as usize);
                let facts = state.map(|state| context.identity.contracts.describe(state));
                facts.is_some_and(|facts| {
                    facts.is_ok_and(|facts| vault::is_relevant(&facts, &is_theirs))
                })
            });
        }
        match failure.into_inner() {
            Some(error) => Err(error),
            None => Ok(theirs),
        }
    }
}
