//! Transactions of contracts that this node's program lacks. This program cannot judge them, but a program with the application
//! can. Such a delivery therefore gets no answer, and its sender repeats it, at the latest when this node reconnects.

use ledger::{ContractExecutor, ContractName, RegistryError, SignedTransaction};
use primitives::Hash;

use crate::context::Context;
use crate::ledger_book::Book;
use crate::port::{Reads, StoreFailure};

/// Returns a contract of the transaction's states that is not registered here. Such a contract cannot name the parties that
/// its states concern, and this node may be one of them.
pub(super) fn contract_unknown_of(
    transaction: &SignedTransaction,
    book: &Book,
    context: &Context,
    reads: &dyn Reads,
) -> Result<Option<ContractName>, StoreFailure> {
    let wire = transaction.wire();
    for state in wire.outputs() {
        if let Err(RegistryError::Unknown(name)) = context.identity.contracts.describe(state) {
            return Ok(Some(name));
        }
    }
    for reference in wire.inputs().iter().chain(wire.references()) {
        if let Some(state) = book.state(reference, reads)?
            && let Err(RegistryError::Unknown(name)) = context.identity.contracts.describe(&state)
        {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

/// Returns whether the transaction, or one that made a state which it consumes, attaches code that is not registered here. Such
/// code cannot be run, which is no fault of the transaction.
pub(super) fn lacks_code(
    transaction: &SignedTransaction,
    book: &Book,
    context: &Context,
    reads: &dyn Reads,
) -> Result<bool, StoreFailure> {
    let contracts = &context.identity.contracts;
    let unknown = |hash: &Hash| contracts.descriptor(hash).is_none();
    let wire = transaction.wire();
    if wire.attachments().iter().any(unknown) {
        return Ok(true);
    }
    for reference in wire.inputs().iter().chain(wire.references()) {
        if let Some(made) = book.get(&reference.tx, reads)?
            && made.transaction.wire().attachments().iter().any(unknown)
        {
            return Ok(true);
        }
    }
    Ok(false)
}
