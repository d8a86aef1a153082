//! Transactions on their way into the ledger: signatures, dependencies, contracts, and the record.

pub(crate) mod classify;
pub(crate) mod concerns;
pub(crate) mod contract_checks;
pub(crate) mod contract_job;
mod deliveries;
pub(crate) mod fault;
mod files;
pub(crate) mod goal;
pub(crate) mod item_id;
mod item_steps;
pub(crate) mod items;
mod missing_contracts;
mod on_command;
pub(crate) mod put_off;
mod refuse;
pub(crate) mod signatures;
pub(crate) mod views;
