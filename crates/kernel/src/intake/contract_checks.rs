//! The contracts of transactions: run once for each transaction, and accepted ones remembered.

use std::cell::RefCell;
use std::collections::HashMap;

use ledger::{
    Constraint, LedgerTransaction, Rejection, SignedTransaction, TxId, VerifiedTransaction,
};

use crate::cache::GenerationCache;
use crate::context::Context;
use crate::figures::CacheFigures;
use crate::intake::classify::fault_of;
use crate::intake::fault::Fault;
use crate::ledger_book::Book;
use crate::port::{Reads, StoreFailure};

/// Weight of a transaction known to be valid in its cache, in bytes.
const VALID_BYTES: usize = 96;

/// The transactions whose contracts accepted them, recorded or not.
pub(crate) struct ContractChecks {
    verified: RefCell<GenerationCache<TxId, VerifiedTransaction>>,
}

impl ContractChecks {
    /// Creates the part without a result.
    pub(crate) fn new(bytes: usize) -> Self {
        let verified = RefCell::new(GenerationCache::new(bytes));
        Self { verified }
    }

    /// Runs the contracts of a transaction whose dependencies are all recorded.
    pub(crate) fn run(
        &self,
        transaction: &SignedTransaction,
        book: &Book,
        context: &Context,
        reads: &dyn Reads,
    ) -> Result<Result<VerifiedTransaction, Fault>, StoreFailure> {
        let id = transaction.id();
        if let Some(proof) = self.verified.borrow_mut().get(&id) {
            return Ok(Ok(proof));
        }
        let wire = transaction.wire();
        let mut states = HashMap::new();
        let mut origins = HashMap::new();
        for reference in wire.inputs().iter().chain(wire.references()) {
            if let Some(state) = book.state(reference, reads)? {
                if matches!(state.constraint, Constraint::SignedBy(_))
                    && let Some(recorded) = book.get(&reference.tx, reads)?
                {
                    let attachments = recorded.transaction.wire().attachments();
                    origins.insert(reference.tx, attachments.to_vec());
                }
                states.insert(*reference, state);
            }
        }
        let resolved = LedgerTransaction::resolve(wire, |reference| states.get(reference).cloned());
        let resolved = match resolved {
            Ok(resolved) => resolved.with_origins(|id| origins.get(id).cloned()),
            // This node's ledger lacks a state.
            Err(error) => return Ok(Err(Fault::Local(Rejection::of(&error)))),
        };
        let identity = &context.identity;
        match resolved.verify(&*identity.contracts, identity.network.rules()) {
            Ok(proof) => {
                let mut verified = self.verified.borrow_mut();
                verified.insert(id, proof, VALID_BYTES);
                Ok(Ok(proof))
            }
            Err(error) => Ok(Err(fault_of(&error, transaction, book, context, reads)?)),
        }
    }

    /// Returns the figures of the results.
    pub(crate) fn figures(&self) -> CacheFigures {
        self.verified.borrow().figures()
    }
}
