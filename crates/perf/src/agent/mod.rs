//! Load from several machines: agents generate it, the coordinator (who runs the scenario) shares it out and puts the
//! results together.
//!
//! ```text
//! Team (coordinator) --TLS, token--> Agent (there) : the work, the nodes' endpoints, a share of the load, what was prepared
//!      <-- each second, and at the end: histograms, failures by code, acknowledged transactions
//! ```
//! Histograms are merged exactly, and every second's is sent when it is over: when an agent dies, what it had done until
//! then counts, the others go on, and the units that it had begun are failures of an unknown outcome. Clocks are compared
//! by the quickest of several round trips, so that all begin at the same moment and the series have one time axis. What
//! agents' flows acknowledged goes into the coordinator's books, and the audit judges it as if it had been its own.
//!
//! Modules in reading order: `address`, `channel` (TLS, proofs, frames), `wire` (what is said), `serve` and `job` (an
//! agent), `team` and `member` (the coordinator), `split` and `merge`.

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
pub use team::{Task, Team, Together};
