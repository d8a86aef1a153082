//! Transactions of contracts that this node's program lacks. This program cannot judge them, but a program with the application
//! can. Such a delivery therefore gets no answer, and its sender repeats it, at the latest when this node comes back.

use ledger::{
    ContractExecutor, ContractName, PartyId, RegistryError, Rejection, SignedTransaction, TxId,
};
use primitives::Hash;

use crate::kernel::Kernel;
use crate::port::{Reads, StoreFailure};

/// The code under which the log names the missing contract.
const UNKNOWN: &str = "contract.unknown";

impl Kernel {
    /// Returns a contract of the transaction's states that is not registered here. Such a contract cannot name the parties that
    /// its states concern, and this node may be one of them.
    pub(crate) fn contract_unknown_of(
        &mut self,
        transaction: &SignedTransaction,
        reads: &dyn Reads,
    ) -> Result<Option<ContractName>, StoreFailure> {
        let wire = transaction.wire();
        for state in wire.outputs() {
            if let Err(RegistryError::Unknown(name)) =
                self.context.identity.contracts.describe(state)
            {
                return Ok(Some(name));
            }
        }
        for reference in wire.inputs().iter().chain(wire.references()) {
            if let Some(state) = self.book.state(reference, reads)?
                && let Err(RegistryError::Unknown(name)) =
                    self.context.identity.contracts.describe(&state)
            {
                return Ok(Some(name));
            }
        }
        Ok(None)
    }

    /// Whether code is attached to a transaction, or to those that made the states that it consumes, that is not registered
    /// here: that it cannot be run is no fault of the transaction.
    pub(crate) fn lacks_code(
        &mut self,
        transaction: &SignedTransaction,
        reads: &dyn Reads,
    ) -> Result<bool, StoreFailure> {
        let contracts = &self.context.identity.contracts;
        let unknown = |hash: &Hash| contracts.descriptor(hash).is_none();
        let wire = transaction.wire();
        if wire.attachments().iter().any(unknown) {
            return Ok(true);
        }
        for reference in wire.inputs().iter().chain(wire.references()) {
            if let Some(made) = self.book.get(&reference.tx, reads)?
                && made.transaction.wire().attachments().iter().any(unknown)
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Leaves a delivery without an answer for want of code, and says so.
    pub(crate) fn lacks_contract(&mut self, peer: PartyId, id: TxId, why: Rejection) {
        let text = format!(
            "this node has to be started with the application that brings the contract: {}",
            why.message
        );
        let why = Rejection::new(why.code, text, why.hint);
        self.leave_waiting(peer, id, UNKNOWN, why);
    }
}
