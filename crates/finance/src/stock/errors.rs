//! Why stock is refused, by the contract and by the flows.

use ledger::ContractRejection;
use primitives::{Coded, DecodeError, ErrorInfo};
use thiserror::Error;

use super::Symbol;
use crate::ERRORS;

/// Why stock is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StockError {
    /// A state's data is not stock.
    #[error("a state's data is not stock: {0}")]
    State(DecodeError),
    /// A command's value is not one of the contract's.
    #[error("a command's value is not one of the stock contract's: {0}")]
    Command(DecodeError),
    /// A quantity of nothing.
    #[error("a quantity of stock is zero")]
    ZeroQuantity,
    /// A sum is too large.
    #[error("a sum of quantities is over 18446744073709551615")]
    Overflow,
    /// What goes in is not what comes out.
    #[error(
        "{symbol}: {consumed} consumed and {issued} issued, but {made} made and {exited} exited"
    )]
    NotConserved {
        /// Of which stock.
        symbol: Symbol,
        /// How much is consumed.
        consumed: u64,
        /// How much is issued.
        issued: u64,
        /// How much is made.
        made: u64,
        /// How much is exited.
        exited: u64,
    },
    /// The issuer does not sign what it has to.
    #[error("an issue or exit of stock does not name the issuer as a signer")]
    IssuerMustSign,
    /// An owner does not sign for its stock.
    #[error("stock is consumed by a command that does not name its owner as a signer")]
    OwnerMustSign,
    /// Two commands for the same.
    #[error("there are two moves, or two issues or exits of one stock")]
    CommandRepeated,
    /// A command for stock that is not there.
    #[error("a command is about stock that the transaction does not have")]
    CommandWithoutStock,
    /// A symbol is not one.
    #[error("'{0}' is not a symbol")]
    Symbol(String),
    /// A quantity can't be split into so many states.
    #[error("{quantity} can't be split into {states} states")]
    Split {
        /// The quantity.
        quantity: u64,
        /// How many states.
        states: u32,
    },
    /// Stock of several kinds in one move.
    #[error("the states are of different stocks, or bound to different versions of the contract")]
    Mixed,
    /// Less than is to be moved.
    #[error("the states hold {held}, less than the {wanted} to be moved")]
    TooLittle {
        /// What the states hold.
        held: u64,
        /// What is to be moved.
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
