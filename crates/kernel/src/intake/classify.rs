//! The classification of the errors of verification.

use crate::context::Context;
use crate::errors;
use crate::intake::fault::Fault;
use crate::intake::missing_contracts::lacks_code;
use crate::ledger_book::Book;
use crate::port::{Reads, StoreFailure};
use ledger::{ContextualError, Rejection, SignedTransaction};

/// Returns the fault behind a rejection of verification.
pub(super) fn fault_of(
    error: &ContextualError,
    transaction: &SignedTransaction,
    book: &Book,
    context: &Context,
    reads: &dyn Reads,
) -> Result<Fault, StoreFailure> {
    let rejection = Rejection::of(error);
    Ok(match error {
        ContextualError::NotaryMissing
        | ContextualError::TimeWindowWithoutNotary
        | ContextualError::NotaryMismatch(..)
        | ContextualError::OutputNotaryMismatch(..)
        | ContextualError::EncumbranceInvalid(_)
        | ContextualError::EncumbranceMissing(_)
        | ContextualError::ContractAmbiguous(_)
        | ContextualError::CommandWithoutState(_)
        | ContextualError::ConstraintUnsatisfied(_)
        | ContextualError::ConstraintNotPropagated(_)
        | ContextualError::NameReserved(_)
        | ContextualError::Downgraded { .. }
        | ContextualError::Transition(_) => Fault::Final(rejection),
        // The parameters may change.
        ContextualError::NotaryUnknown(_) | ContextualError::AlwaysAcceptRefused(_) => {
            Fault::Local(with_parameters(rejection, transaction, context))
        }
        // This node's ledger lacks the transaction that made a state.
        ContextualError::OriginUnknown(_) => Fault::Local(rejection),
        ContextualError::ContractMissing(_) | ContextualError::CodeNotAttached(_) => {
            if lacks_code(transaction, book, context, reads)? {
                Fault::Program(rejection)
            } else {
                Fault::Final(rejection)
            }
        }
        // The code panicked in this node's program, and may not in another.
        ContextualError::ContractRejected { rejection: by, .. } if by.is_by_program() => {
            Fault::Local(rejection)
        }
        ContextualError::ContractRejected { .. } => Fault::Final(rejection),
    })
}

/// Adds to a reason how the network parameters of the transaction and of this node differ.
pub(super) fn with_parameters(
    rejection: Rejection,
    transaction: &SignedTransaction,
    context: &Context,
) -> Rejection {
    let network = &context.identity.network;
    let ours = network.parameters_hash();
    match transaction.wire().parameters() {
        Some(theirs) if *theirs != ours => {
            let version = network.parameters().version;
            let text = format!(
                "{}; it was made under the network parameters {theirs}, and this node has version {version}, {ours}",
                rejection.message
            );
            Rejection::new(rejection.code, text, rejection.hint)
        }
        _ => rejection,
    }
}

/// Checks that a transaction is not too large for the parameters of this node.
pub(super) fn check_room(transaction: &SignedTransaction, context: &Context) -> Result<(), Fault> {
    let checked = context.message_limits.check(transaction);
    checked.map_err(|rejection| Fault::Local(with_parameters(rejection, transaction, context)))
}

/// Returns the reason to leave a transaction that concerns no key that this node holds now.
pub(super) fn no_part_of_ours() -> Rejection {
    let text = "this node takes no part in the transaction with the keys that it holds now, and no flow of it waits for it";
    errors::rejection(&errors::NOT_A_PARTICIPANT, text)
}

/// Returns the reason to leave a transaction while this node's data is an older copy, which may lack keys that it had given out.
pub(super) fn older_copy_lacks_keys(context: &Context) -> Rejection {
    let text = format!(
        "the data of {} is an older copy, which may lack keys of the transaction; it looks again once it has recovered",
        context.identity.me.name
    );
    errors::rejection(&errors::ROLLED_BACK, text)
}
