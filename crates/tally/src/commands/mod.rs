//! The commands, one file each, grouped as on the command line.

pub mod api;
pub mod attachment;
pub mod chain;
pub mod completions;
pub mod contract;
pub mod db;
pub mod doctor;
pub mod flow;
pub mod ledger;
pub mod network;
pub mod node;
pub mod notary;
pub mod recover;
mod store_care;
pub mod tx;
pub mod user;
pub mod vault;
