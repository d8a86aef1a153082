//! Decoding of bids.

use crate::trade::{BidState, TradeError, bid_name};
use ledger::StateAndRef;
use primitives::Decode;

/// Decodes the bid in a state.
pub(super) fn open_bid(state: &StateAndRef) -> Result<BidState, TradeError> {
    if state.state.contract != *bid_name() {
        return Err(TradeError::NoBid);
    }
    BidState::from_bytes(&state.state.data).map_err(TradeError::Bid)
}
