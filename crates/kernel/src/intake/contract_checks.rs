//! The contracts of transactions: run once for each transaction, and accepted ones remembered.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use ledger::{Constraint, Rejection, SignedTransaction, TxId, VerifiedTransaction};

use crate::cache::GenerationCache;
use crate::context::Context;
use crate::figures::CacheFigures;
use crate::intake::classify::fault_of;
use crate::intake::contract_job::{ContractJob, Judgement, Unjudged};
use crate::intake::fault::Fault;
use crate::ledger_book::Book;
use crate::port::{Reads, StoreFailure};

/// Weight of a transaction known to be valid in its cache, in bytes.
const VALID_BYTES: usize = 96;

/// The transactions whose contracts accepted them, recorded or not, and the judgements of a batch that no one has asked for yet.
pub(crate) struct ContractChecks {
    verified: RefCell<GenerationCache<TxId, VerifiedTransaction>>,
    /// Rejections by the contracts of the last batch. Each is taken once, within the round.
    rejected: RefCell<HashMap<TxId, Unjudged>>,
}

impl ContractChecks {
    /// Creates the part without a result.
    pub(crate) fn new(bytes: usize) -> Self {
        let verified = RefCell::new(GenerationCache::new(bytes));
        Self {
            verified,
            rejected: RefCell::default(),
        }
    }

    /// Returns the contracts of a transaction as a job, unless they are known to accept it. Its dependencies are all recorded.
    pub(crate) fn job(
        &self,
        transaction: &Arc<SignedTransaction>,
        book: &Book,
        context: &Context,
        reads: &dyn Reads,
    ) -> Result<Option<ContractJob>, StoreFailure> {
        if self.verified.borrow().contains(&transaction.id()) {
            return Ok(None);
        }
        prepare(transaction, book, context, reads).map(Some)
    }

    /// Forgets the rejections of an earlier batch.
    pub(crate) fn begin_batch(&mut self) {
        self.rejected.get_mut().clear();
    }

    /// Takes the result of a job.
    pub(crate) fn judged(&mut self, id: TxId, judgement: Judgement) {
        match judgement {
            Ok(proof) => self.verified.get_mut().insert(id, proof, VALID_BYTES),
            Err(reason) => drop(self.rejected.get_mut().insert(id, reason)),
        }
    }

    /// Returns the judgement of a transaction's contracts. They run now unless a job has run them. The transaction's dependencies are
    /// all recorded.
    pub(crate) fn run(
        &self,
        transaction: &Arc<SignedTransaction>,
        book: &Book,
        context: &Context,
        reads: &dyn Reads,
    ) -> Result<Result<VerifiedTransaction, Fault>, StoreFailure> {
        let id = transaction.id();
        if let Some(proof) = self.verified.borrow_mut().get(&id) {
            return Ok(Ok(proof));
        }
        let rejected = self.rejected.borrow_mut().remove(&id);
        let judgement = match rejected {
            Some(reason) => Err(reason),
            None => prepare(transaction, book, context, reads)?.run(),
        };
        match judgement {
            Ok(proof) => {
                let mut verified = self.verified.borrow_mut();
                verified.insert(id, proof, VALID_BYTES);
                Ok(Ok(proof))
            }
            Err(Unjudged::Unresolved(error)) => Ok(Err(Fault::Local(Rejection::of(&error)))),
            Err(Unjudged::Rejected(error)) => {
                Ok(Err(fault_of(&error, transaction, book, context, reads)?))
            }
        }
    }

    /// Returns the figures of the results.
    pub(crate) fn figures(&self) -> CacheFigures {
        self.verified.borrow().figures()
    }
}

/// Looks up the states that a transaction consumes and reads.
fn prepare(
    transaction: &Arc<SignedTransaction>,
    book: &Book,
    context: &Context,
    reads: &dyn Reads,
) -> Result<ContractJob, StoreFailure> {
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
    let identity = &context.identity;
    Ok(ContractJob {
        transaction: Arc::clone(transaction),
        states,
        origins,
        contracts: Arc::clone(&identity.contracts),
        network: Arc::clone(&identity.network),
    })
}
