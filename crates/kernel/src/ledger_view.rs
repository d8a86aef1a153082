//! The node's own ledger as the parts see it.

use std::sync::Arc;

use ledger::{
    PartyId, Rejection, SignedTransaction, StateRef, TxId, VerifiedTransaction, WireTransaction,
};

use crate::command::ContradictionsCommand;
use crate::context::Context;
use crate::errors;
use crate::intake::contract_checks::ContractChecks;
use crate::intake::fault::Fault;
use crate::integrity::contradictions::Contradictions;
use crate::ledger_book::Book;
use crate::port::{Reads, StoreFailure};

/// A read-only view of the recorded transactions, and of what judges a further one.
#[derive(Clone, Copy)]
pub(crate) struct LedgerView<'a> {
    pub(crate) book: &'a Book,
    pub(crate) contracts: &'a ContractChecks,
    pub(crate) contradictions: &'a Contradictions,
    pub(crate) reads: &'a dyn Reads,
}

impl LedgerView<'_> {
    /// Returns whether a transaction is recorded, durable or not yet.
    pub(crate) fn contains(self, id: &TxId) -> Result<bool, StoreFailure> {
        self.book.contains(id, self.reads)
    }

    /// Runs the contracts of a transaction whose dependencies are all recorded.
    pub(crate) fn run_contracts(
        self,
        transaction: &Arc<SignedTransaction>,
        context: &Context,
    ) -> Result<Result<VerifiedTransaction, Fault>, StoreFailure> {
        self.contracts
            .run(transaction, self.book, context, self.reads)
    }

    /// Returns the first input that this ledger records as consumed by another transaction, with the position of that transaction.
    pub(crate) fn consumed_before(
        self,
        wire: &WireTransaction,
    ) -> Result<Option<(StateRef, u64)>, StoreFailure> {
        self.contradictions
            .consumed_before(wire, self.book, self.reads)
    }

    /// Checks a notarised transaction that is about to be recorded against this ledger. On a contradiction the proof against the
    /// notary is kept, and the reason for the refusal is returned.
    ///
    /// The caller has checked the transaction's signatures and knows that it is not in the book.
    pub(crate) fn contradicted(
        self,
        transaction: &Arc<SignedTransaction>,
        brought_by: Option<PartyId>,
        context: &mut Context,
    ) -> Result<Option<Rejection>, StoreFailure> {
        let Some((state, seq)) = self.consumed_before(transaction.wire())? else {
            return Ok(None);
        };
        let first = Box::new(self.book.recorded_at(seq, self.reads)?);
        let text = format!(
            "it consumes state {state}, which transaction {} of this node's ledger has consumed",
            first.id()
        );
        context.command(ContradictionsCommand::Keep {
            state,
            brought_by,
            first,
            second: Arc::clone(transaction),
        });
        Ok(Some(errors::rejection(&errors::INPUT_CONSUMED, text)))
    }
}
