//! Builds cash transactions without effects: the step of a flow between the selection of states and the signing.

use std::sync::{Arc, OnceLock};

use ledger::{Constraint, ContractRegistry, Party, StateAndRef, TransactionBuilder};
use primitives::{Decode, Encode, Hash, PublicKey};

use crate::{CashCommand, CashContract, CashError, CashState, IssuedToken, cash_name};

/// Maximum number of states that one amount is split into.
pub const SPLIT_MAX: u32 = 1_000;

/// Returns the code of the newest version of the cash contract: its descriptor and the constraint of new states.
pub fn cash_code() -> &'static (Hash, Constraint) {
    static CODE: OnceLock<(Hash, Constraint)> = OnceLock::new();
    CODE.get_or_init(|| {
        let mut registry = ContractRegistry::new();
        registry
            .register(Arc::new(CashContract))
            .expect("the only contract of a new registry");
        registry
            .current(cash_name())
            .expect("it was just registered")
    })
}

/// An amount for an owner, split into a number of states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Portion {
    /// The owner.
    pub owner: PublicKey,
    /// The amount, in minor units.
    pub quantity: u64,
    /// The number of states.
    pub states: u32,
}

impl Portion {
    /// Checks that the amount is not zero and can be split.
    fn check(&self) -> Result<(), CashError> {
        let Portion {
            quantity, states, ..
        } = *self;
        if quantity == 0 {
            return Err(CashError::ZeroAmount);
        }
        if states == 0 || states > SPLIT_MAX || u64::from(states) > quantity {
            return Err(CashError::Split { quantity, states });
        }
        Ok(())
    }

    /// Returns the quantities of the states: as equal as possible, the larger ones first.
    fn split(&self) -> Result<impl Iterator<Item = u64> + use<>, CashError> {
        self.check()?;
        let states = u64::from(self.states);
        let (each, rest) = (self.quantity / states, self.quantity % states);
        Ok((0..states).map(move |index| each + u64::from(index < rest)))
    }
}

/// Returns the sum of the portions. Each must be an amount that can be split into its number of states.
pub fn total(portions: &[Portion]) -> Result<u64, CashError> {
    portions.iter().try_fold(0u64, |sum, portion| {
        portion.check()?;
        sum.checked_add(portion.quantity).ok_or(CashError::Overflow)
    })
}

fn add_outputs(
    mut builder: TransactionBuilder,
    token: &IssuedToken,
    constraint: &Constraint,
    portion: &Portion,
) -> Result<TransactionBuilder, CashError> {
    for quantity in portion.split()? {
        let state = CashState {
            token: token.clone(),
            quantity,
            owner: portion.owner.clone(),
        };
        builder = builder.output_data(cash_name().clone(), constraint.clone(), state.to_bytes());
    }
    Ok(builder)
}

/// Issues cash. The issuer has to sign.
pub fn issue(
    notary: Party,
    token: &IssuedToken,
    portions: &[Portion],
) -> Result<TransactionBuilder, CashError> {
    let (descriptor, constraint) = cash_code();
    let quantity = total(portions)?;
    let mut builder = TransactionBuilder::new(notary).attachment(*descriptor);
    for portion in portions {
        builder = add_outputs(builder, token, constraint, portion)?;
    }
    let command = CashCommand::Issue {
        token: token.id(),
        quantity,
    };
    let signers = vec![token.issuer.key.clone()];
    Ok(builder.command(cash_name().clone(), command.to_bytes(), signers))
}

/// A transaction that spends cash, with the keys that have to sign it.
#[derive(Clone, Debug)]
pub struct Spending {
    /// The transaction so far.
    pub builder: TransactionBuilder,
    /// The owners of the cash consumed.
    pub owners: Vec<PublicKey>,
    /// The change that goes back.
    pub change: u64,
}

/// The cash to be spent, decoded.
struct Purse {
    token: IssuedToken,
    sum: u64,
    owners: Vec<PublicKey>,
    constraint: Constraint,
}

impl Purse {
    fn open(inputs: &[StateAndRef]) -> Result<Self, CashError> {
        let first = inputs.first().ok_or(CashError::ZeroAmount)?;
        let read = |input: &StateAndRef| {
            CashState::from_bytes(&input.state.data).map_err(CashError::State)
        };
        let token = read(first)?.token;
        let constraint = first.state.constraint.clone();
        let (mut sum, mut owners) = (0u64, Vec::new());
        for input in inputs {
            let cash = read(input)?;
            if cash.token != token {
                return Err(CashError::TokenAmbiguous);
            }
            if input.state.constraint != constraint {
                return Err(CashError::MixedConstraints);
            }
            sum = sum.checked_add(cash.quantity).ok_or(CashError::Overflow)?;
            if !owners.contains(&cash.owner) {
                owners.push(cash.owner);
            }
        }
        Ok(Self {
            token,
            sum,
            owners,
            constraint,
        })
    }

    /// Builds a transaction that consumes the inputs and makes the portions and the change.
    fn spend(
        &self,
        notary: Party,
        inputs: &[StateAndRef],
        portions: &[Portion],
        exited: u64,
        change_to: &PublicKey,
    ) -> Result<(TransactionBuilder, u64), CashError> {
        let paid = total(portions)?
            .checked_add(exited)
            .ok_or(CashError::Overflow)?;
        let change = self.sum.checked_sub(paid).ok_or(CashError::NotConserved {
            currency: self.token.currency,
            consumed: self.sum,
            issued: 0,
            made: paid - exited,
            exited,
        })?;
        let code = match &self.constraint {
            Constraint::Descriptor(hash) => *hash,
            _ => cash_code().0,
        };
        let mut builder = TransactionBuilder::new(notary)
            .attachment(code)
            .inputs(inputs);
        for portion in portions {
            builder = add_outputs(builder, &self.token, &self.constraint, portion)?;
        }
        if change > 0 {
            let back = Portion {
                owner: change_to.clone(),
                quantity: change,
                states: 1,
            };
            builder = add_outputs(builder, &self.token, &self.constraint, &back)?;
        }
        Ok((builder, change))
    }
}

/// Pays from states of one token. The change goes to `change_to` as one state.
pub fn pay(
    notary: Party,
    inputs: &[StateAndRef],
    portions: &[Portion],
    change_to: &PublicKey,
) -> Result<Spending, CashError> {
    if portions.is_empty() {
        return Err(CashError::NoPayment);
    }
    let purse = Purse::open(inputs)?;
    let (builder, change) = purse.spend(notary, inputs, portions, 0, change_to)?;
    let signers = purse.owners.clone();
    let builder = builder.command(cash_name().clone(), CashCommand::Move.to_bytes(), signers);
    Ok(Spending {
        builder,
        owners: purse.owners,
        change,
    })
}

/// Exits a quantity of cash. The change goes to `change_to`. The issuer and the owners have to sign.
pub fn exit(
    notary: Party,
    inputs: &[StateAndRef],
    quantity: u64,
    change_to: &PublicKey,
) -> Result<Spending, CashError> {
    if quantity == 0 {
        return Err(CashError::ZeroAmount);
    }
    let mut purse = Purse::open(inputs)?;
    let (builder, change) = purse.spend(notary, inputs, &[], quantity, change_to)?;
    let issuer = purse.token.issuer.key.clone();
    if !purse.owners.contains(&issuer) {
        purse.owners.push(issuer);
    }
    let command = CashCommand::Exit {
        token: purse.token.id(),
        quantity,
    };
    let builder = builder.command(
        cash_name().clone(),
        command.to_bytes(),
        purse.owners.clone(),
    );
    Ok(Spending {
        builder,
        owners: purse.owners,
        change,
    })
}
