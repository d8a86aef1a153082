//! The goods of a swap: cash or stock, behind one interface.

use ledger::{Constraint, ContractName, StateAndRef, TokenId};
use primitives::{Decode, Encode, Hash, PublicKey};

use super::SwapError;
use crate::cash_builder::cash_code;
use crate::stock::builder::stock_code;
use crate::stock::{StockCommand, StockState, StockToken, stock_name};
use crate::{CashCommand, CashState, IssuedToken, cash_name};

/// A token of cash or of stock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Goods {
    Cash(IssuedToken),
    Stock(StockToken),
}

/// The quantity and the owner of the goods in one state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Holding {
    pub(crate) quantity: u64,
    pub(crate) owner: PublicKey,
}

impl Goods {
    /// Returns the contract of its states.
    pub(crate) fn contract(&self) -> &'static ContractName {
        match self {
            Goods::Cash(_) => cash_name(),
            Goods::Stock(_) => stock_name(),
        }
    }

    /// Returns the token's id.
    pub(crate) fn token(&self) -> TokenId {
        match self {
            Goods::Cash(token) => token.id(),
            Goods::Stock(token) => token.id(),
        }
    }

    /// Returns the code to attach for states under a constraint.
    pub(crate) fn code(&self, constraint: &Constraint) -> Hash {
        match (constraint, self) {
            (Constraint::Descriptor(hash), _) => *hash,
            (_, Goods::Cash(_)) => cash_code().0,
            (_, Goods::Stock(_)) => stock_code().0,
        }
    }

    /// Returns the data of a state that holds a quantity of it.
    pub(crate) fn state(&self, quantity: u64, owner: &PublicKey) -> Vec<u8> {
        let owner = owner.clone();
        match self {
            Goods::Cash(token) => CashState {
                token: token.clone(),
                quantity,
                owner,
            }
            .to_bytes(),
            Goods::Stock(token) => StockState {
                token: token.clone(),
                quantity,
                owner,
            }
            .to_bytes(),
        }
    }

    /// Returns the quantity and owner that a state holds of it, or `None` if the state holds another token.
    pub(crate) fn held(&self, state: &StateAndRef) -> Option<Holding> {
        if state.state.contract != *self.contract() {
            return None;
        }
        let data = &state.state.data;
        match self {
            Goods::Cash(token) => CashState::from_bytes(data)
                .ok()
                .filter(|cash| cash.token == *token)
                .map(|cash| Holding {
                    quantity: cash.quantity,
                    owner: cash.owner,
                }),
            Goods::Stock(token) => StockState::from_bytes(data)
                .ok()
                .filter(|stock| stock.token == *token)
                .map(|stock| Holding {
                    quantity: stock.quantity,
                    owner: stock.owner,
                }),
        }
    }

    /// Returns the total quantity in states, and their owners.
    ///
    /// # Errors
    /// `swap.state_not_given`: a state is of something else. `swap.overflow`.
    pub(crate) fn sum(&self, states: &[StateAndRef]) -> Result<(u64, Vec<PublicKey>), SwapError> {
        let (mut sum, mut owners) = (0u64, Vec::new());
        for state in states {
            let held = self.held(state);
            let other = SwapError::State(state.reference, "it is a state of something else");
            let held = held.ok_or(other)?;
            sum = sum.checked_add(held.quantity).ok_or(SwapError::Overflow)?;
            if !owners.contains(&held.owner) {
                owners.push(held.owner);
            }
        }
        Ok((sum, owners))
    }

    /// Returns the value of the command that passes it on.
    pub(crate) fn move_command(&self) -> Vec<u8> {
        match self {
            Goods::Cash(_) => CashCommand::Move.to_bytes(),
            Goods::Stock(_) => StockCommand::Move.to_bytes(),
        }
    }
}
