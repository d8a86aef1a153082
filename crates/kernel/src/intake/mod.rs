//! Transactions on their way into the ledger: signatures, dependencies, contracts, and the record.

pub(crate) mod checks;
pub(crate) mod classify;
pub(crate) mod concerns;
pub(crate) mod contract_checks;
pub(crate) mod fault;
pub(crate) mod files;
pub(crate) mod item_id;
pub(crate) mod items;
pub(crate) mod missing_contracts;
pub(crate) mod settle;
pub(crate) mod signatures;
