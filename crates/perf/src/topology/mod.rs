//! Networks brought up for a run: real processes in a temporary folder.

mod network;
mod ports;
mod process;

pub use network::{Network, NetworkError, NetworkOptions, Who};
pub use ports::free_ports;
pub use process::{NodeProcess, ProcessError, Program};
