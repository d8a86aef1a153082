//! Trades, as delivery versus payment: an asset against cash in one transaction.
//!
//! A buyer publishes a *bid* in advance: the asset, the seller and the maximum price. The bid is a state of the buyer's
//! own ledger that the seller sees. Taking the bid consumes it, so one bid buys once. Without a bid a node buys nothing.

mod asset;
mod bid;
mod errors;

pub use asset::Asset;
pub use bid::{ASSET_BYTES_MAX, BID_NAME, BidCommand, BidContract, BidState, bid_code, bid_name};
pub use errors::TradeError;
