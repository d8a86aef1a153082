//! The flows of trades.

mod bid;
mod decode;
mod sell;

pub use bid::{PaperTerms, PlaceBid, PlaceBidArgs, WithdrawBid, WithdrawBidArgs};
pub use sell::{BuyByBid, Sell, SellArgs};
