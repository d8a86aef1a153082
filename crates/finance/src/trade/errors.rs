//! Reasons for refusing a trade or a bid.

use ledger::ContractRejection;
use primitives::{Coded, DecodeError, ErrorInfo, Timestamp};
use thiserror::Error;

use crate::ERRORS;

/// A reason why the contract or a flow refuses a trade or a bid.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TradeError {
    /// A state's data is not a bid.
    #[error("a state's data is not a bid: {0}")]
    Bid(DecodeError),
    /// A command's value is not a command of the contract.
    #[error("a command's value is not one of the contract of bids: {0}")]
    Command(DecodeError),
    /// Two commands do the same.
    #[error("there are two placings or two closings of bids")]
    CommandRepeated,
    /// A command has no bid to act on.
    #[error("a command is about bids that the transaction does not have")]
    CommandWithoutBid,
    /// The buyer does not sign.
    #[error("a bid is made or consumed, and no command for that names its buyer as a signer")]
    BuyerMustSign,
    /// The data of an asset does not decode.
    #[error("an asset does not decode: {0}")]
    Asset(DecodeError),
    /// States of the contract are not traded.
    #[error("states of the contract '{0}' are not traded")]
    NotTradable(String),
    /// The asset is missing, or is named in two ways.
    #[error("a bid names either a paper, or a contract with the data of a state")]
    AssetAmbiguous,
    /// The state named is not a bid of the buyer to the seller.
    #[error("the state named is not a bid of the buyer's to the seller")]
    NoBid,
    /// The bid has ended.
    #[error("the bid stood until {0}")]
    Expired(Timestamp),
    /// The bid is for another asset.
    #[error("the bid is for something else: {0}")]
    Differs(&'static str),
    /// The price exceeds the bid.
    #[error("the price is {price}, and the bid is {price_max} at most")]
    Price {
        /// The seller's price.
        price: u64,
        /// The buyer's maximum price.
        price_max: u64,
    },
    /// The asset belongs to another party.
    #[error("the asset is owned by another party")]
    NotTheOwner,
    /// A proposed transaction differs from the agreement.
    #[error("the transaction proposed differs from the agreement: {0}")]
    Proposal(&'static str),
}

impl Coded for TradeError {
    fn code(&self) -> &'static str {
        match self {
            TradeError::Bid(_) => "bid.state_malformed",
            TradeError::Command(_) => "bid.command_malformed",
            TradeError::CommandRepeated => "bid.command_repeated",
            TradeError::CommandWithoutBid => "bid.command_without_bid",
            TradeError::BuyerMustSign => "bid.buyer_must_sign",
            TradeError::Asset(_) => "trade.asset_malformed",
            TradeError::NotTradable(_) => "trade.not_tradable",
            TradeError::AssetAmbiguous => "trade.asset_ambiguous",
            TradeError::NoBid => "trade.no_bid",
            TradeError::Expired(_) => "trade.bid_expired",
            TradeError::Differs(_) => "trade.bid_differs",
            TradeError::Price { .. } => "trade.price_over_bid",
            TradeError::NotTheOwner => "trade.not_the_owner",
            TradeError::Proposal(_) => "trade.proposal_differs",
        }
    }

    fn hint(&self) -> &'static str {
        ErrorInfo::action_of(ERRORS, self.code())
    }
}

impl From<TradeError> for ContractRejection {
    fn from(error: TradeError) -> Self {
        ContractRejection::new(error.code(), error.to_string())
    }
}
