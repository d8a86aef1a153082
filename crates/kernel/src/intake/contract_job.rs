//! The contracts of one transaction as a job: everything that they are shown, and their judgement.

use std::collections::HashMap;
use std::sync::Arc;

use ledger::{
    ContextualError, ContractRegistry, LedgerTransaction, NetworkMap, ResolveError,
    SignedTransaction, StateRef, TransactionState, TxId, VerifiedTransaction,
};
use primitives::Hash;

/// A transaction with the states that it consumes and reads.
pub(crate) struct ContractJob {
    pub(super) transaction: Arc<SignedTransaction>,
    /// The states that this node's ledger has of those that the transaction names.
    pub(super) states: HashMap<StateRef, TransactionState>,
    /// The attachments of the transactions that made inputs, where a constraint asks for them.
    pub(super) origins: HashMap<TxId, Vec<Hash>>,
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
        let look_up = |reference: &StateRef| self.states.get(reference).cloned();
        let resolved = LedgerTransaction::resolve(wire, look_up).map_err(Unjudged::Unresolved)?;
        let resolved = resolved.with_origins(|id| self.origins.get(id).cloned());
        let verified = resolved.verify(&*self.contracts, self.network.rules());
        verified.map_err(Unjudged::Rejected)
    }
}
