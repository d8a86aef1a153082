//! Agents as hosts: an agent holds the folders of nodes and runs the nodes, for a coordinator on another machine.
//!
//! ```text
//! AgentHost (coordinator) --orders: write, copy, start, signal, look--> serve --> Share --> ThisMachine (there)
//!      <-- answers, and by itself: a process is ready, a process has ended, a sign of life each second
//! ```
//! An agent starts only nodes of its own executable. All paths are within a folder that it makes for the connection. If
//! the connection ends, it kills all processes and removes the folder.
//!
//! Modules in reading order: `order` and `program` (messages). `share` and `serve` are the agent. `agent_host`, `connection`,
//! `agent_process` and `process_state` are the coordinator, and `address` is the command line's.

mod address;
mod agent_host;
mod agent_process;
mod connection;
mod order;
mod process_state;
mod program;
mod serve;
mod share;
mod share_paths;
#[cfg(test)]
mod tests;

pub use address::HostAddress;
pub use agent_host::AgentHost;
pub(super) use order::{Answer, Facts, Order, ProcessEvent, Trouble};
pub(super) use serve::serve;
