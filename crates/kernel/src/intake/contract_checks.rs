//! The contracts of transactions: run once for each transaction, and accepted ones remembered.

use std::cell::RefCell;
use std::sync::Arc;

use ledger::{Rejection, SignedTransaction, TxId, VerifiedTransaction};
use primitives::collections::{HashMap, HashSet};

use crate::cache::GenerationCache;
use crate::context::Context;
use crate::figures::CacheFigures;
use crate::intake::classify::fault_of;
use crate::intake::contract_job::{ContractJob, Judgement, OutputFacts, Unjudged};
use crate::intake::fault::Fault;
use crate::ledger_book::Book;
use crate::port::{Reads, StoreFailure};

/// Weight of a transaction known to be valid in its cache, in bytes.
const VALID_BYTES: usize = 96;

/// The transactions whose contracts accepted them, recorded or not, and the judgements of the last batch of jobs.
pub(crate) struct ContractChecks {
    verified: RefCell<GenerationCache<TxId, VerifiedTransaction>>,
    /// Judgements for the items of a batch. They stay until the next batch.
    judged: HashMap<TxId, Judgement>,
    /// Descriptions of outputs, for the transactions of a batch that are recorded next. They stay until the next batch.
    facts: HashMap<TxId, OutputFacts>,
    /// The transactions with a job in the batch.
    asked: HashSet<TxId>,
}

impl ContractChecks {
    /// Creates the part without a result.
    pub(crate) fn new(bytes: usize) -> Self {
        let verified = RefCell::new(GenerationCache::new(bytes));
        Self {
            verified,
            judged: HashMap::default(),
            facts: HashMap::default(),
            asked: HashSet::default(),
        }
    }

    /// Forgets the judgements of an earlier batch.
    pub(crate) fn begin_batch(&mut self) {
        self.judged.clear();
        self.facts.clear();
        self.asked.clear();
    }

    /// Returns the contracts of a transaction as a job of the batch, unless they have a job already or are known to accept it. The
    /// transaction's dependencies are all recorded.
    pub(crate) fn job(
        &mut self,
        (transaction, is_to_record): (&Arc<SignedTransaction>, bool),
        book: &Book,
        context: &Context,
        reads: &dyn Reads,
    ) -> Result<Option<ContractJob>, StoreFailure> {
        let id = transaction.id();
        if !self.asked.insert(id) {
            return Ok(None);
        }
        let known = self.verified.get_mut().get(&id);
        if let Some(proof) = known
            && !is_to_record
        {
            self.judged.insert(id, Ok(proof));
            return Ok(None);
        }
        let makers = match known {
            Some(_) => HashMap::default(),
            None => makers_of(transaction, book, reads)?,
        };
        let job = ContractJob::new(transaction, makers, &context.identity);
        Ok(Some(ContractJob {
            is_to_record,
            known,
            ..job
        }))
    }

    /// Takes the result of a job.
    pub(crate) fn judged(
        &mut self,
        id: TxId,
        (judgement, facts): (Judgement, Option<OutputFacts>),
    ) {
        self.facts.extend(facts.map(|facts| (id, facts)));
        if let Ok(proof) = &judgement {
            self.verified.get_mut().insert(id, *proof, VALID_BYTES);
        }
        self.judged.insert(id, judgement);
    }

    /// Returns the contracts' descriptions of the outputs of a transaction that is being recorded: from its job, or else made now.
    pub(crate) fn take_facts(
        &mut self,
        transaction: &SignedTransaction,
        context: &Context,
    ) -> OutputFacts {
        self.facts.remove(&transaction.id()).unwrap_or_else(|| {
            let outputs = transaction.wire().outputs();
            context.identity.contracts.facts(outputs).collect()
        })
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
        let now: Judgement;
        let judgement = match self.judged.get(&id) {
            Some(judgement) => judgement,
            None => {
                if let Some(proof) = self.verified.borrow_mut().get(&id) {
                    return Ok(Ok(proof));
                }
                let makers = makers_of(transaction, book, reads)?;
                now = ContractJob::new(transaction, makers, &context.identity).judge();
                if let Ok(proof) = &now {
                    let mut verified = self.verified.borrow_mut();
                    verified.insert(id, *proof, VALID_BYTES);
                }
                &now
            }
        };
        match judgement {
            Ok(proof) => Ok(Ok(*proof)),
            Err(Unjudged::Unresolved(error)) => Ok(Err(Fault::Local(Rejection::of(error)))),
            Err(Unjudged::Rejected(error)) => {
                Ok(Err(fault_of(error, transaction, book, context, reads)?))
            }
        }
    }

    /// Returns the figures of the results.
    pub(crate) fn figures(&self) -> CacheFigures {
        self.verified.borrow().figures()
    }
}

/// Looks up the makers of the states that a transaction consumes and reads.
fn makers_of(
    transaction: &SignedTransaction,
    book: &Book,
    reads: &dyn Reads,
) -> Result<HashMap<TxId, Arc<SignedTransaction>>, StoreFailure> {
    let wire = transaction.wire();
    let mut makers = HashMap::default();
    for reference in wire.inputs().iter().chain(wire.references()) {
        if !makers.contains_key(&reference.tx)
            && let Some(recorded) = book.get(&reference.tx, reads)?
        {
            makers.insert(reference.tx, recorded.transaction);
        }
    }
    Ok(makers)
}
