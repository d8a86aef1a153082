//! Load from several machines: agents generate it, the coordinator (who runs the scenario) shares it out and puts the
//! results together.
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
//! agent. `team`, `member`, `split` and `merge` are the coordinator.

mod address;
mod channel;
mod error;
mod handle;
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
pub use serve::{Agent, Said};
pub use team::{Task, Team, TeamOutcome};
