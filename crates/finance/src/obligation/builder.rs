//! Builds transactions with obligations from data alone.

use std::sync::{Arc, OnceLock};

use ledger::{Constraint, ContractRegistry, StateAndRef, TransactionBuilder};
use primitives::{Decode, Encode, Hash, PublicKey};

use super::{
    ObligationCommand, ObligationContract, ObligationError, ObligationState, obligation_name,
};

/// Returns the code of the newest version of the contract: its descriptor and the constraint of new states.
pub fn obligation_code() -> &'static (Hash, Constraint) {
    static CODE: OnceLock<(Hash, Constraint)> = OnceLock::new();
    CODE.get_or_init(|| {
        let mut registry = ContractRegistry::new();
        registry
            .register(Arc::new(ObligationContract))
            .expect("the only contract of a new registry");
        registry
            .current(obligation_name())
            .expect("it was just registered")
    })
}

/// Decodes the obligation in a state.
pub fn open(state: &StateAndRef) -> Result<ObligationState, ObligationError> {
    if state.state.contract != *obligation_name() {
        return Err(ObligationError::NotAnObligation);
    }
    ObligationState::from_bytes(&state.state.data).map_err(ObligationError::State)
}

/// Adds a new obligation.
pub fn make(builder: TransactionBuilder, state: &ObligationState) -> TransactionBuilder {
    let (code, constraint) = obligation_code();
    builder.attachment(*code).output_data(
        obligation_name().clone(),
        constraint.clone(),
        state.to_bytes(),
    )
}

/// Adds the change of an obligation to a new version, or its end.
pub fn change(
    builder: TransactionBuilder,
    before: &StateAndRef,
    after: Option<&ObligationState>,
) -> TransactionBuilder {
    let code = match &before.state.constraint {
        Constraint::Descriptor(hash) => *hash,
        _ => obligation_code().0,
    };
    let builder = builder.attachment(code).input(before);
    let Some(after) = after else {
        return builder;
    };
    let constraint = before.state.constraint.clone();
    builder.output_data(obligation_name().clone(), constraint, after.to_bytes())
}

/// Adds a command to the contract.
pub fn command(
    builder: TransactionBuilder,
    command: &ObligationCommand,
    signers: Vec<PublicKey>,
) -> TransactionBuilder {
    builder.command(obligation_name().clone(), command.to_bytes(), signers)
}
