//! Reasons for refusing stock.

use ledger::ContractRejection;
use primitives::{Coded, DecodeError, ErrorInfo};
use thiserror::Error;

use super::Symbol;
use crate::ERRORS;

/// A reason why the contract or a flow refuses stock.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StockError {
    /// A state's data is not stock.
    #[error("a state's data is not stock: {0}")]
    State(DecodeError),
    /// A command's value is not a command of the contract.
    #[error("a command's value is not one of the stock contract's: {0}")]
    Command(DecodeError),
    /// A quantity is zero.
    #[error("a quantity of stock is zero")]
    ZeroQuantity,
    /// A sum is too large.
    #[error("a sum of quantities is over 18446744073709551615")]
    Overflow,
    /// Inputs and outputs do not balance.
    #[error(
        "{symbol}: {consumed} consumed and {issued} issued, but {made} made and {exited} exited"
    )]
    NotConserved {
        /// The stock.
        symbol: Symbol,
        /// The quantity consumed.
        consumed: u64,
        /// The quantity issued.
        issued: u64,
        /// The quantity made.
        made: u64,
        /// The quantity exited.
        exited: u64,
    },
    /// The issuer does not sign its issue or exit.
    #[error("an issue or exit of stock does not name the issuer as a signer")]
    IssuerMustSign,
    /// An owner does not sign for its stock.
    #[error("stock is consumed by a command that does not name its owner as a signer")]
    OwnerMustSign,
    /// Two commands do the same.
    #[error("there are two moves, or two issues or exits of one stock")]
    CommandRepeated,
    /// A command names stock that the transaction does not have.
    #[error("a command is about stock that the transaction does not have")]
    CommandWithoutStock,
    /// A text is not a symbol.
    #[error("'{0}' is not a symbol")]
    Symbol(String),
    /// A quantity can't be split into this many states.
    #[error("{quantity} can't be split into {states} states")]
    Split {
        /// The quantity.
        quantity: u64,
        /// The number of states.
        states: u32,
    },
    /// The states are of several stocks or versions of the contract.
    #[error("the states are of different stocks, or bound to different versions of the contract")]
    Mixed,
    /// The states hold less than the quantity to move.
    #[error("the states hold {held}, less than the {wanted} to be moved")]
    TooLittle {
        /// The quantity in the states.
        held: u64,
        /// The quantity to move.
        wanted: u64,
    },
}

impl Coded for StockError {
    fn code(&self) -> &'static str {
        match self {
            StockError::State(_) => "stock.state_malformed",
            StockError::Command(_) => "stock.command_malformed",
            StockError::ZeroQuantity => "stock.zero_quantity",
            StockError::Overflow => "stock.overflow",
            StockError::NotConserved { .. } => "stock.not_conserved",
            StockError::IssuerMustSign => "stock.issuer_must_sign",
            StockError::OwnerMustSign => "stock.owner_must_sign",
            StockError::CommandRepeated => "stock.command_repeated",
            StockError::CommandWithoutStock => "stock.command_without_stock",
            StockError::Symbol(_) => "stock.symbol_invalid",
            StockError::Split { .. } => "stock.split_impossible",
            StockError::Mixed => "stock.mixed",
            StockError::TooLittle { .. } => "stock.too_little",
        }
    }

    fn hint(&self) -> &'static str {
        ErrorInfo::action_of(ERRORS, self.code())
    }
}

impl From<StockError> for ContractRejection {
    fn from(error: StockError) -> Self {
        ContractRejection::new(error.code(), error.to_string())
    }
}
