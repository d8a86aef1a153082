//! The rule for access to files: a party may have a file if it takes part in a transaction that lists it, is owed that
//! transaction, or is asked to sign it.

use std::cell::RefCell;

use ledger::{PartyId, SignedTransaction, TxId};
use primitives::{Hash, PublicKey};

use crate::event::Action;
use crate::kernel::Kernel;
use crate::port::{Reads, StoreFailure};

impl Kernel {
    /// A peer asks for a file. Whether it is not here or not for this peer is the same answer.
    pub(crate) fn on_file_permit(
        &mut self,
        peer: PartyId,
        hash: Hash,
        transaction: &TxId,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let offer = match self.may_have(peer, &hash, transaction, reads)? {
            true => self.files.get(&hash, reads)?.map(|row| row.offer()),
            false => None,
        };
        self.context
            .round
            .then
            .push(Action::PermitFile { peer, hash, offer });
        Ok(())
    }

    fn may_have(
        &self,
        peer: PartyId,
        hash: &Hash,
        id: &TxId,
        reads: &dyn Reads,
    ) -> Result<bool, StoreFailure> {
        let proposing = self.proposals.flows_with(id, hash);
        let engine = self.runner.engine();
        if proposing.iter().any(|flow| engine.speaks_with(flow, &peer)) {
            return Ok(true);
        }
        let Some(recorded) = self.book.read(id, reads)? else {
            return Ok(false);
        };
        let transaction = &recorded.transaction;
        if !transaction.wire().attachments().contains(hash) {
            return Ok(false);
        }
        Ok(self.links.unanswered.owes(&peer, id) || self.takes_part(transaction, peer, reads)?)
    }

    /// Whether a peer owns or takes part in a state that a recorded transaction makes or consumes, or had to sign it, as far as
    /// this node knows whose keys are.
    fn takes_part(
        &self,
        transaction: &SignedTransaction,
        peer: PartyId,
        reads: &dyn Reads,
    ) -> Result<bool, StoreFailure> {
        let failure = RefCell::new(None);
        let owners = self.keys.owners(&self.context, reads);
        let is_theirs = |key: &PublicKey| match owners.owner_of(key) {
            Ok(owner) => owner == Some(peer),
            Err(error) => {
                failure.replace(Some(error));
                false
            }
        };
        let mut theirs = self.concerns(transaction, &is_theirs);
        for reference in transaction.wire().inputs() {
            if theirs {
                break;
            }
            let made = self.book.read(&reference.tx, reads)?;
            let made = made.as_ref().map(|made| made.transaction.wire());
            let state = made.and_then(|wire| wire.output(reference.index as usize));
            let facts = state.map(|state| self.context.identity.contracts.describe(state));
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
