//! Transactions of contracts that this node's program lacks. What they are worth cannot be said here and now: started with the
//! application, the node can take them. So who delivers one gets no answer, and delivers it again, at the latest when this node
//! comes back.

use ledger::{
    ContractExecutor, ContractName, PartyId, RegistryError, Rejection, SignedTransaction, TxId,
};
use primitives::Hash;

use crate::kernel::Kernel;
use crate::port::{Reads, StoreFailure};

/// The code under which the log names what is missing.
const UNKNOWN: &str = "contract.unknown";

impl Kernel {
    /// A contract of the transaction's states that is not registered here. It cannot say whom its states concern: it may well be
    /// us.
    pub(crate) fn contract_unknown_of(
        &mut self,
        transaction: &SignedTransaction,
        reads: &dyn Reads,
    ) -> Result<Option<ContractName>, StoreFailure> {
        let wire = transaction.wire();
        for state in wire.outputs() {
            if let Err(RegistryError::Unknown(name)) = self.identity.contracts.describe(state) {
                return Ok(Some(name));
            }
        }
        for reference in wire.inputs().iter().chain(wire.references()) {
            if let Some(state) = self.book.state(reference, reads)?
                && let Err(RegistryError::Unknown(name)) = self.identity.contracts.describe(&state)
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
        let contracts = &self.identity.contracts;
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
