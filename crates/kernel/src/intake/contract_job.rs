//! The contracts of one transaction as a job: everything that they are shown, and their judgement.

use std::sync::Arc;

use ledger::{
    ContextualError, ContractRegistry, LedgerTransaction, NetworkMap, ResolveError,
    SignedTransaction, StateRef, TransactionState, TxId, VerifiedTransaction,
};
use primitives::collections::HashMap;

/// A transaction with those that made the states which it consumes and reads.
pub(crate) struct ContractJob {
    pub(super) transaction: Arc<SignedTransaction>,
    /// The makers of its inputs and references that this node's ledger has.
    pub(super) makers: HashMap<TxId, Arc<SignedTransaction>>,
    pub(super) contracts: Arc<ContractRegistry>,
    pub(super) network: Arc<NetworkMap>,
}

/// The judgement of the contracts.
pub(crate) type Judgement = Result<VerifiedTransaction, Unjudged>;

/// The reason why a transaction is not verified.
pub(crate) enum Unjudged {
    /// This node's ledger lacks a state.
    Unresolved(ResolveError),
    /// The ledger's rules or a contract reject it.
    Rejected(ContextualError),
}

impl ContractJob {
    /// Runs the contracts.
    pub(crate) fn run(&self) -> Judgement {
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
