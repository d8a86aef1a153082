//! Machines that hold the folders of nodes and run the nodes: this one, or one behind an agent.
//!
//! ```text
//! Network, ChainNetwork ──► NodeFolder, NodeProcess ──► Host ──► ThisMachine
//! Monitor ────────────────────────────────────────────►      └─► agent::AgentHost ──TLS──► agent ──► ThisMachine there
//! ```
//! Networks, chains and the monitor know only the trait. An agent performs its orders with the same code on its own
//! machine.

mod error;
#[cfg(test)]
pub(crate) mod fake;
mod local_process;
mod machine;
mod node_folder;
mod placement;
mod program;
mod this_machine;

pub use error::HostError;
pub(crate) use error::{LOST, REFUSED};
pub(crate) use machine::two_addresses;
pub use machine::{Host, HostProcess, Looking, PlacedProcess, Readiness, Seen, Wanted};
pub(crate) use node_folder::{NodeFolder, RemoteFolders};
pub use placement::Placement;
pub(crate) use program::READY;
pub use program::{Program, signal};
pub use this_machine::{ThisMachine, tail, this_machine};
