//! Work on several machines: agents generate load and hold nodes, the coordinator (who runs the scenario) shares the load
//! out and puts the results together.
//!
//! ```text
//! Team (coordinator) --TLS, token--> Agent (there) : the work, the nodes' endpoints, a share of the load, what was prepared
//!      <-- each second, and at the end: histograms, failures by code, acknowledged transactions
//! ```
//! Histograms are merged exactly, and each second's histogram is sent when the second is over. If an agent dies, its
//! reported results still count, the others go on, and the units that it had begun are failures of unknown outcome.
//! Clocks are compared by the quickest of several round trips, so that all begin at the same moment and the series have
//! one time axis. Transactions that agents' flows acknowledged go into the coordinator's books, and the audit judges them
//! like its own.
//!
//! Modules in reading order: `address`, `channel` (TLS, proofs, frames) and `wire` (messages). `serve` and `job` are the
//! agent, which reaches a chain through `chain`. `connect`, `team`, `member`, `split` and `merge` are the coordinator. `host` has nodes run by agents.

mod address;
mod chain;
mod channel;
mod connect;
mod error;
mod handle;
mod host;
mod job;
mod member;
mod merge;
mod serve;
mod split;
mod team;
mod wire;

pub use address::AgentAddress;
pub use channel::Token;
pub use error::{AgentError, ERRORS};
pub use handle::Agents;
pub use host::{AgentHost, HostAddress};
pub use serve::{Agent, Said};
pub use team::{ChainTask, Task, Team, TeamOutcome};
