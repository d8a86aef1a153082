//! Contracts and flows of finance: cash, stock, time locks, commercial paper and obligations. Assets are traded against cash, and
//! cash is swapped for stock between several parties. Parties can also share documents.
//!
//! The crate is pure: contracts decide from a transaction alone, and flows reach the outside only through their context.

mod cash_command;
mod cash_contract;
mod cash_state;
mod currency;
mod currency_text;
mod errors;
mod reference;

pub mod cash_builder;
pub mod document;
pub mod flows;
pub mod lock;
pub mod obligation;
pub mod paper;
pub mod stock;
pub mod swap;
pub mod trade;

use std::sync::Arc;

use flow::FlowRegistry;
use ledger::{ContractRegistry, RegistryError};

pub use cash_builder::Portion;
pub use cash_command::CashCommand;
pub use cash_contract::{CashContract, cash_name};
pub use cash_state::{CASH_NAME, CashState, IssuedToken};
pub use currency::Currency;
pub use errors::{CashError, ERRORS};
pub use reference::Reference;

/// Registers this crate's contracts.
pub fn register_contracts(registry: &mut ContractRegistry) -> Result<(), RegistryError> {
    registry.register(Arc::new(CashContract))?;
    registry.register(Arc::new(paper::PaperContract))?;
    registry.register(Arc::new(obligation::ObligationContract))?;
    registry.register(Arc::new(trade::BidContract))?;
    registry.register(Arc::new(lock::LockContract))?;
    registry.register(Arc::new(stock::StockContract))?;
    registry.register(Arc::new(swap::MandateContract))?;
    registry.register(Arc::new(document::DocumentContract))?;
    Ok(())
}

/// Registers this crate's flows.
pub fn register_flows(registry: &mut FlowRegistry) {
    flows::register(registry);
}
