//! Networks brought up for a run: real processes in a temporary folder.

mod ports;
mod process;

pub use ports::free_ports;
pub use process::{NodeProcess, ProcessError, Program};
