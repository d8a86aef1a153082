//! Networks brought up for a run: real processes in a temporary folder.

mod affinity;
mod bootstrap;
mod care;
mod chain_genesis;
mod chain_network;
mod codes;
mod config_file;
mod copy;
mod database;
mod database_process;
mod description;
mod external;
pub(crate) mod host;
mod link;
mod network;
mod network_error;
mod notary_database;
mod process;
mod readings;
mod standby;
mod who;

pub use affinity::cores;
pub use care::NodeCare;
pub use chain_network::{ChainNetwork, HistoryBuilt};
pub use codes::ERRORS;
pub use config_file::{FIXED, Settings};
pub use database_process::DatabaseProcess;
pub use description::NetworkOptions;
pub use external::{ExternalNode, chain_endpoint};
pub use host::{
    Host, HostError, HostProcess, Looking, PlacedProcess, Placement, Program, Readiness, Seen,
    ThisMachine, Wanted, signal, tail, this_machine,
};
pub use link::{LinkSpeed, LinkSpeeds, Links};
pub use network::Network;
pub use network_error::NetworkError;
pub use notary_database::NotaryBackend;
pub use pgserver::free_ports;
pub use process::{NodeProcess, ProcessError};
pub use rustix::process::Signal;
pub use standby::Standby;
pub use who::Who;
