//! Reasons for refusing a swap or a mandate.

use ledger::{ContractRejection, LegalName, StateRef};
use primitives::{Coded, DecodeError, ErrorInfo, Timestamp};
use thiserror::Error;

use crate::ERRORS;

/// A reason why the contract or a flow refuses a swap or a mandate.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SwapError {
    /// A state's data is not a mandate.
    #[error("a state's data is not a mandate: {0}")]
    Mandate(DecodeError),
    /// A command's value is not a command of the contract.
    #[error("a command's value is not one of the contract of mandates: {0}")]
    Command(DecodeError),
    /// Two commands do the same.
    #[error("two commands give mandates, or two revoke them")]
    CommandRepeated,
    /// A command has no mandate to act on.
    #[error("a command is about mandates that the transaction does not have")]
    CommandWithoutMandate,
    /// The owner does not sign.
    #[error("a mandate is given or revoked, and no command for that names its owner as a signer")]
    OwnerMustSign,
    /// A price or a quantity is zero.
    #[error("a price or a quantity is zero")]
    Zero,
    /// Too few or too many pairs.
    #[error("{0} pairs; a swap has 1 to 5")]
    Pairs(usize),
    /// A party occurs twice.
    #[error("{0} is in a swap twice")]
    PartyTwice(LegalName),
    /// Too many states are named, or one is named twice.
    #[error("a party gives 1 to 64 states, each named once")]
    States,
    /// The party has given the coordinator no mandate on this market.
    #[error("{party} has no mandate that lets this coordinator {side} {symbol} for it")]
    NoMandate {
        /// The party.
        party: LegalName,
        /// The side.
        side: &'static str,
        /// The stock.
        symbol: String,
    },
    /// The mandate has ended.
    #[error("the mandate stood until {0}")]
    Ended(Timestamp),
    /// The swap exceeds the mandate.
    #[error("{quantity} for {price} is beyond the mandate")]
    OverMandate {
        /// Units of stock.
        quantity: u64,
        /// Minor units of cash.
        price: u64,
    },
    /// The state named is not a mandate of this node.
    #[error("the state named is no mandate of this node")]
    NotAMandate,
    /// A state named can't be given.
    #[error("the state {0} can't be given: {1}")]
    State(StateRef, &'static str),
    /// The states hold less than the quantity to give.
    #[error("the states given hold {held}, less than {wanted}")]
    TooLittle {
        /// The quantity in the states.
        held: u64,
        /// The quantity to give.
        wanted: u64,
    },
    /// A sum is too large.
    #[error("a sum is over 18446744073709551615")]
    Overflow,
    /// A party's answer does not fit the request.
    #[error("the answer of {party} does not fit the request: {what}")]
    Answer {
        /// The party.
        party: LegalName,
        /// The fault of the answer.
        what: &'static str,
    },
    /// A proposed transaction differs from the agreement.
    #[error("the transaction proposed differs from the agreement: {0}")]
    Proposal(&'static str),
}

impl Coded for SwapError {
    fn code(&self) -> &'static str {
        match self {
            SwapError::Mandate(_) => "mandate.state_malformed",
            SwapError::Command(_) => "mandate.command_malformed",
            SwapError::CommandRepeated => "mandate.command_repeated",
            SwapError::CommandWithoutMandate => "mandate.command_without_mandate",
            SwapError::OwnerMustSign => "mandate.owner_must_sign",
            SwapError::NotAMandate => "mandate.not_a_mandate",
            SwapError::Zero => "swap.zero",
            SwapError::Pairs(_) => "swap.count",
            SwapError::PartyTwice(_) => "swap.party_twice",
            SwapError::States => "swap.states",
            SwapError::NoMandate { .. } => "swap.no_mandate",
            SwapError::Ended(_) => "swap.mandate_ended",
            SwapError::OverMandate { .. } => "swap.over_mandate",
            SwapError::State(..) => "swap.state_not_given",
            SwapError::TooLittle { .. } => "swap.too_little",
            SwapError::Overflow => "swap.overflow",
            SwapError::Answer { .. } => "swap.answer_invalid",
            SwapError::Proposal(_) => "swap.proposal_differs",
        }
    }

    fn hint(&self) -> &'static str {
        ErrorInfo::action_of(ERRORS, self.code())
    }
}

impl From<SwapError> for ContractRejection {
    fn from(error: SwapError) -> Self {
        ContractRejection::new(error.code(), error.to_string())
    }
}
