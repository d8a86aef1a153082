//! Whole chain networks in one thread from one seed: deciding cores over stores in memory, with delays, losses, repetitions,
//! partitions, crashes that lose what was not yet durable, clocks that go wrong within the drift, clients that also send what is
//! invalid, and peers that lie; and an audit of what must hold when all is quiet again.
//!
//! ```text
//!  seed ─► Plan (who forges, what breaks when, who pays whom) ─► World (one queue of things to come) ─► audit ─► ChainReport
//! ```
//! The same seed gives the same run. A failure is told with the command that replays it.

mod adversary;
mod audit;
mod bug;
mod equivocator;
mod network;
mod node;
mod plan;
mod report;
mod resign;
mod scenario;
mod siege;
mod traffic;
mod world;

pub use bug::ChainBug;
pub use plan::ChainOptions;
pub use report::{ChainReport, ChainTally};
pub use scenario::Scenario;
pub use world::run_chain;
