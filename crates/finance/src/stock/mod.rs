//! Stock: a quantity of an issuer's symbol, fungible and conserved like cash.

mod contract;
mod errors;
mod state;
mod symbol;

pub mod builder;

pub use contract::{STOCK_NAME, StockContract, stock_name};
pub use errors::StockError;
pub use state::{StockCommand, StockState, StockToken};
pub use symbol::Symbol;
