//! The flows of stock.

mod arguments;
mod exit;
mod issue;
mod transfer;

pub use arguments::StockArgs;
pub use exit::{ExitStock, ExitStockArgs};
pub use issue::{IssueStock, IssueStockArgs};
pub use transfer::{TransferStock, TransferStockArgs};
