//! Trades, as delivery versus payment: an asset against cash in one transaction.
//!
//! A buyer says in advance what it takes, from whom, and for how much at most: a *bid*, a state of its own ledger that the
//! seller sees. Taking the bid consumes it, so one bid buys once; without a bid a node buys nothing.

mod asset;
mod bid;
mod errors;

pub use asset::Asset;
pub use bid::{ASSET_BYTES_MAX, BID_NAME, BidCommand, BidContract, BidState, bid_code, bid_name};
pub use errors::TradeError;
