//! Builds transactions with commercial paper from data alone.

use std::sync::{Arc, OnceLock};

use ledger::{Constraint, ContractRegistry, Party, StateAndRef, TimeWindow, TransactionBuilder};
use primitives::{Decode, Encode, Hash, PublicKey};

use super::{PaperCommand, PaperContract, PaperError, PaperState, paper_name};
use crate::cash_builder::Spending;

/// Returns the code of the newest version of the contract: its descriptor and the constraint of new states.
pub fn paper_code() -> &'static (Hash, Constraint) {
    static CODE: OnceLock<(Hash, Constraint)> = OnceLock::new();
    CODE.get_or_init(|| {
        let mut registry = ContractRegistry::new();
        registry
            .register(Arc::new(PaperContract))
            .expect("the only contract of a new registry");
        registry
            .current(paper_name())
            .expect("it was just registered")
    })
}

fn code_of(paper: &StateAndRef) -> Hash {
    match &paper.state.constraint {
        Constraint::Descriptor(hash) => *hash,
        _ => paper_code().0,
    }
}

/// Issues a paper. The issuer has to sign, and the window has to end by the maturity.
pub fn issue(notary: Party, paper: &PaperState, window: TimeWindow) -> TransactionBuilder {
    let (descriptor, constraint) = paper_code();
    let signers = vec![paper.issuer.key.clone()];
    TransactionBuilder::new(notary)
        .attachment(*descriptor)
        .time_window(window)
        .output_data(paper_name().clone(), constraint.clone(), paper.to_bytes())
        .command(
            paper_name().clone(),
            PaperCommand::Issue.to_bytes(),
            signers,
        )
}

/// Adds the transfer of a paper to a new owner; the old owner has to sign. In a sale, `builder` already contains the payment.
pub fn transfer(
    builder: TransactionBuilder,
    paper: &StateAndRef,
    to: PublicKey,
) -> Result<TransactionBuilder, PaperError> {
    let mut state = PaperState::from_bytes(&paper.state.data).map_err(PaperError::State)?;
    let signers = vec![std::mem::replace(&mut state.owner, to)];
    let constraint = paper.state.constraint.clone();
    Ok(builder
        .attachment(code_of(paper))
        .input(paper)
        .output_data(paper_name().clone(), constraint, state.to_bytes())
        .command(paper_name().clone(), PaperCommand::Move.to_bytes(), signers))
}

/// Adds the redemption of a paper to a payment of its face value; the owner has to sign too.
pub fn redeem(mut payment: Spending, paper: &StateAndRef) -> Result<Spending, PaperError> {
    let state = PaperState::from_bytes(&paper.state.data).map_err(PaperError::State)?;
    payment.builder = payment
        .builder
        .attachment(code_of(paper))
        .time_window(TimeWindow::from(state.maturity))
        .input(paper)
        .command(
            paper_name().clone(),
            PaperCommand::Redeem.to_bytes(),
            vec![state.owner.clone()],
        );
    if !payment.owners.contains(&state.owner) {
        payment.owners.push(state.owner);
    }
    Ok(payment)
}
