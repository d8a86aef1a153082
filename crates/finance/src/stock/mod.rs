//! Stock: a quantity of an issuer's symbol, fungible and conserved like cash.

mod contract;
mod errors;
mod state;
mod symbol;
mod symbol_text;

pub mod builder;

pub use contract::{StockContract, stock_name};
pub use errors::StockError;
pub use state::{STOCK_NAME, StockCommand, StockState, StockToken};
pub use symbol::Symbol;
