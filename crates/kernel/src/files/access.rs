//! The rule for access to files: a party may have a file if it takes part in a transaction that lists it, is owed that
//! transaction, or is asked to sign it.

use std::cell::RefCell;

use flow::FlowEngine;
use ledger::{PartyId, SignedTransaction, TxId};
use primitives::{Hash, PublicKey};

use super::events::Files;
use crate::context::Context;
use crate::event::Action;
use crate::intake::concerns::concerns;
use crate::keys::KeyBook;
use crate::ledger_book::Book;
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
    /// Answers a peer that asks for a file. The answer is the same for a file that is not here and for one that the peer may not have.
    pub(crate) fn on_permit(
        &mut self,
        peer: PartyId,
        hash: Hash,
        transaction: &TxId,
        others: &Participation<'_>,
        context: &mut Context,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let offer = match self.may_have(peer, &hash, transaction, others, context, reads)? {
            true => self.book.get(&hash, reads)?.map(|row| row.offer()),
            false => None,
        };
        context.act(Action::PermitFile { peer, hash, offer });
        Ok(())
    }

    fn may_have(
        &self,
        peer: PartyId,
        hash: &Hash,
        id: &TxId,
        others: &Participation<'_>,
        context: &Context,
        reads: &dyn Reads,
    ) -> Result<bool, StoreFailure> {
        let proposing = self.proposals.flows_with(id, hash);
        let engine = others.engine;
        if proposing.iter().any(|flow| engine.speaks_with(flow, &peer)) {
            return Ok(true);
        }
        let Some(recorded) = others.book.read(id, reads)? else {
            return Ok(false);
        };
        let transaction = &recorded.transaction;
        if !transaction.wire().attachments().contains(hash) {
            return Ok(false);
        }
        Ok(others.unanswered.owes(&peer, id)
            || others.takes_part(transaction, peer, context, reads)?)
    }
}

impl Participation<'_> {
    /// Returns whether a peer owns or takes part in a state that a recorded transaction makes or consumes, or had to sign the
    /// transaction. Counts only keys whose owners this node knows.
    fn takes_part(
        &self,
        transaction: &SignedTransaction,
        peer: PartyId,
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
        for reference in transaction.wire().inputs() {
            if theirs {
                break;
            }
            let made = self.book.read(&reference.tx, reads)?;
            let made = made.as_ref().map(|made| made.transaction.wire());
            let state = made.and_then(|wire| wire.output(reference.index as usize));
            let facts = state.map(|state| context.identity.contracts.describe(state));
            theirs = facts.is_some_and(|facts| {
                facts.is_ok_and(|facts| vault::is_relevant(&facts, &is_theirs))
            });
        }
        match failure.into_inner() {
            Some(error) => Err(error),
            None => Ok(theirs),
        }
    }
}
