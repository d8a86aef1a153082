//! Networks brought up for a run: real processes in a temporary folder.

mod description;
mod network;
mod ports;
mod process;

pub use description::NetworkOptions;
pub use network::{Network, NetworkError, Who};
pub use ports::free_ports;
pub use process::{NodeProcess, ProcessError, Program};
