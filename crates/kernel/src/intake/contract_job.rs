//! The contracts of one transaction as a job: everything that they are shown, and their judgement.

use std::sync::Arc;

use ledger::{
    ContextualError, ContractRegistry, LedgerTransaction, NetworkMap, ResolveError,
    SignedTransaction, StateFacts, StateRef, TransactionState, TxId, VerifiedTransaction,
};
use primitives::collections::HashMap;

use crate::identity::Identity;

/// A transaction with those that made the states which it consumes and reads.
pub(crate) struct ContractJob {
    pub(super) transaction: Arc<SignedTransaction>,
    /// The makers of its inputs and references that this node's ledger has.
    pub(super) makers: HashMap<TxId, Arc<SignedTransaction>>,
    pub(super) contracts: Arc<ContractRegistry>,
    pub(super) network: Arc<NetworkMap>,
    /// Whether to describe the outputs of the transaction if it is accepted, because it is recorded then.
    pub(super) is_to_record: bool,
    /// The judgement, if it is known.
    pub(super) known: Option<VerifiedTransaction>,
}

/// The judgement of the contracts.
pub(crate) type Judgement = Result<VerifiedTransaction, Unjudged>;

/// The contracts' descriptions of the outputs of a transaction, in order.
pub(crate) type OutputFacts = Vec<Option<StateFacts>>;

/// The reason why a transaction is not verified.
pub(crate) enum Unjudged {
    /// This node's ledger lacks a state.
    Unresolved(ResolveError),
    /// The ledger's rules or a contract reject it.
    Rejected(ContextualError),
}

impl ContractJob {
    /// Returns the job that runs the contracts of a transaction whose makers were looked up.
    pub(super) fn new(
        transaction: &Arc<SignedTransaction>,
        makers: HashMap<TxId, Arc<SignedTransaction>>,
        identity: &Identity,
    ) -> Self {
        Self {
            transaction: Arc::clone(transaction),
            makers,
            contracts: Arc::clone(&identity.contracts),
            network: Arc::clone(&identity.network),
            is_to_record: false,
            known: None,
        }
    }

    /// Runs the contracts, unless their judgement is known. Also has them describe the outputs of a transaction that they accept, if it
    /// is to be recorded.
    pub(crate) fn run(&self) -> (Judgement, Option<OutputFacts>) {
        let judgement = self.known.map_or_else(|| self.judge(), Ok);
        let outputs = self.transaction.wire().outputs();
        let facts = (self.is_to_record && judgement.is_ok())
            .then(|| self.contracts.facts(outputs).collect());
        (judgement, facts)
    }

    /// Runs the contracts.
    pub(super) fn judge(&self) -> Judgement {
        let wire = self.transaction.wire();
        let look_up = |reference: &StateRef| self.state(reference);
        let resolved = LedgerTransaction::resolve(wire, look_up).map_err(Unjudged::Unresolved)?;
        let resolved = resolved.with_origins(|id| {
            let maker = self.makers.get(id)?;
            Some(maker.wire().attachments().to_vec())
        });
        let verified = resolved.verify(&*self.contracts, self.network.rules());
        verified.map_err(Unjudged::Rejected)
    }

    fn state(&self, reference: &StateRef) -> Option<TransactionState> {
        let maker = self.makers.get(&reference.tx)?;
        maker.wire().output(reference.index as usize).cloned()
    }

    /// Returns the size of the transactions that it holds, in bytes.
    pub(crate) fn weight(&self) -> usize {
        let makers = self.makers.values().map(|maker| maker.weight());
        self.transaction.weight() + makers.sum::<usize>()
    }
}
