//! Builds transactions with stock from data alone.

use std::sync::{Arc, OnceLock};

use ledger::{Constraint, ContractRegistry, Party, StateAndRef, TransactionBuilder};
use primitives::{Decode, Encode, Hash, PublicKey};

use super::{StockCommand, StockContract, StockError, StockState, StockToken, stock_name};
use crate::Portion;
use crate::cash_builder::SPLIT_MAX;

/// Returns the code of the newest version of the contract: its descriptor and the constraint of new states.
pub fn stock_code() -> &'static (Hash, Constraint) {
    static CODE: OnceLock<(Hash, Constraint)> = OnceLock::new();
    CODE.get_or_init(|| {
        let mut registry = ContractRegistry::new();
        registry
            .register(Arc::new(StockContract))
            .expect("the only contract of a new registry");
        registry
            .current(stock_name())
            .expect("it was just registered")
    })
}

/// Adds the states of a portion: as equal as possible, the larger ones first.
fn add_outputs(
    mut builder: TransactionBuilder,
    token: &StockToken,
    constraint: &Constraint,
    portion: &Portion,
) -> Result<TransactionBuilder, StockError> {
    let (quantity, states) = (portion.quantity, u64::from(portion.states));
    if quantity == 0 {
        return Err(StockError::ZeroQuantity);
    }
    if states == 0 || portion.states > SPLIT_MAX || states > quantity {
        let states = portion.states;
        return Err(StockError::Split { quantity, states });
    }
    let (each, rest) = (quantity / states, quantity % states);
    for index in 0..states {
        let state = StockState {
            token: token.clone(),
            quantity: each + u64::from(index < rest),
            owner: portion.owner.clone(),
        };
        builder = builder.output_data(stock_name().clone(), constraint.clone(), state.to_bytes());
    }
    Ok(builder)
}

/// Issues stock. The issuer has to sign.
pub fn issue(
    notary: Party,
    token: &StockToken,
    portion: &Portion,
) -> Result<TransactionBuilder, StockError> {
    let (descriptor, constraint) = stock_code();
    let builder = TransactionBuilder::new(notary).attachment(*descriptor);
    let builder = add_outputs(builder, token, constraint, portion)?;
    let command = StockCommand::Issue {
        token: token.id(),
        quantity: portion.quantity,
    };
    let signers = vec![token.issuer.key.clone()];
    Ok(builder.command(stock_name().clone(), command.to_bytes(), signers))
}

/// A transaction that consumes stock, with the keys that have to sign it.
#[derive(Clone, Debug)]
pub struct Giving {
    /// The transaction so far.
    pub builder: TransactionBuilder,
    /// The owners of the stock consumed, and the issuer in an exit.
    pub signers: Vec<PublicKey>,
    /// The change that goes back.
    pub change: u64,
}

/// The use of the consumed stock, apart from the change.
#[derive(Clone, Copy, Debug)]
enum Use<'a> {
    Moved(&'a Portion),
    Exited(u64),
}

/// Passes stock on. The change goes to `change_to` as one state.
pub fn transfer(
    notary: Party,
    inputs: &[StateAndRef],
    portion: &Portion,
    change_to: &PublicKey,
) -> Result<Giving, StockError> {
    consume(notary, inputs, Use::Moved(portion), change_to)
}

/// Exits a quantity of stock. The change goes to `change_to`. The issuer and the owners have to sign.
pub fn exit(
    notary: Party,
    inputs: &[StateAndRef],
    quantity: u64,
    change_to: &PublicKey,
) -> Result<Giving, StockError> {
    consume(notary, inputs, Use::Exited(quantity), change_to)
}

fn consume(
    notary: Party,
    inputs: &[StateAndRef],
    purpose: Use<'_>,
    change_to: &PublicKey,
) -> Result<Giving, StockError> {
    let first = inputs.first().ok_or(StockError::ZeroQuantity)?;
    let read =
        |input: &StateAndRef| StockState::from_bytes(&input.state.data).map_err(StockError::State);
    let token = read(first)?.token;
    let constraint = &first.state.constraint;
    let (mut held, mut signers) = (0u64, Vec::new());
    for input in inputs {
        let stock = read(input)?;
        if stock.token != token || input.state.constraint != *constraint {
            return Err(StockError::Mixed);
        }
        held = held
            .checked_add(stock.quantity)
            .ok_or(StockError::Overflow)?;
        if !signers.contains(&stock.owner) {
            signers.push(stock.owner);
        }
    }
    let code = match constraint {
        Constraint::Descriptor(hash) => *hash,
        _ => stock_code().0,
    };
    let mut builder = TransactionBuilder::new(notary)
        .attachment(code)
        .inputs(inputs);
    let (wanted, command) = match purpose {
        Use::Moved(portion) => {
            builder = add_outputs(builder, &token, constraint, portion)?;
            (portion.quantity, StockCommand::Move)
        }
        Use::Exited(0) => return Err(StockError::ZeroQuantity),
        Use::Exited(quantity) => {
            if !signers.contains(&token.issuer.key) {
                signers.push(token.issuer.key.clone());
            }
            let token = token.id();
            (quantity, StockCommand::Exit { token, quantity })
        }
    };
    let too_little = StockError::TooLittle { held, wanted };
    let change = held.checked_sub(wanted).ok_or(too_little)?;
    if change > 0 {
        let back = Portion {
            owner: change_to.clone(),
            quantity: change,
            states: 1,
        };
        builder = add_outputs(builder, &token, constraint, &back)?;
    }
    let builder = builder.command(stock_name().clone(), command.to_bytes(), signers.clone());
    Ok(Giving {
        builder,
        signers,
        change,
    })
}
