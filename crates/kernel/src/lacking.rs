//! Transactions of contracts that this node's program lacks. What they are worth cannot be said here and now: started with the
//! application, the node can take them. So who delivers one gets no answer, and delivers it again, at the latest when this node
//! comes back.

use std::fmt::Display;

use ledger::{
    ContractExecutor, ContractName, PartyId, RegistryError, Rejection, SignedTransaction, TxId,
};
use primitives::Hash;

use crate::intake::{Goal, ItemId};
use crate::kernel::Kernel;
use crate::port::{Reads, StoreFailure};

/// The code under which the log names what is missing.
const UNKNOWN: &str = "contract.unknown";
/// The code of a transaction for which a contract's code was not found.
const MISSING: &str = "tx.contract_missing";

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

    /// Whether a transaction is refused because code is attached to it, or to what made the states that it consumes, that is not
    /// registered here: that is no fault of the transaction.
    pub(crate) fn lacks_code(
        &mut self,
        transaction: &SignedTransaction,
        rejection: &Rejection,
        reads: &dyn Reads,
    ) -> Result<bool, StoreFailure> {
        if rejection.code != MISSING {
            return Ok(false);
        }
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

    /// Gives up an item for want of code. Only who delivers is left without an answer: a flow, and who wants something notarised,
    /// do not wait until somebody installs an application.
    pub(crate) fn wait_for_code(&mut self, item: ItemId, rejection: Rejection) {
        let on_its_way = self.intake.get(item);
        let Some(Goal::Deliver { peer }) = on_its_way.map(|item| item.goal.clone()) else {
            self.refuse(item, rejection);
            return;
        };
        if let Some(taken) = self.take_out(item) {
            self.lacks_contract(peer, &taken.transaction.id(), &rejection.message);
        }
    }

    /// Says in the log why a delivery gets no answer.
    pub(crate) fn lacks_contract(&mut self, peer: PartyId, id: &TxId, what: &dyn Display) {
        let text = format!(
            "transaction {id} has to wait until this node is started with the application that brings its contract: {what}"
        );
        self.complain(UNKNOWN, peer, &text);
    }
}
