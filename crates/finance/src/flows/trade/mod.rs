//! The flows of trades.

mod bid;
mod sell;

pub use bid::{PaperTerms, PlaceBid, PlaceBidArgs, WithdrawBid, WithdrawBidArgs};
pub use sell::{BuyByBid, Sell, SellArgs};

use ledger::StateAndRef;
use primitives::Decode;

use crate::trade::{BidState, TradeError, bid_name};

/// Decodes the bid in a state.
fn open_bid(state: &StateAndRef) -> Result<BidState, TradeError> {
    if state.state.contract != *bid_name() {
        return Err(TradeError::NoBid);
    }
    BidState::from_bytes(&state.state.data).map_err(TradeError::Bid)
}
