//! Whole chain networks in one thread from one seed. Chain cores run over stores in memory, and an audit checks the rules at the
//! end of the run. The network delays, loses and repeats messages and splits into partitions. Nodes crash and lose data that is
//! not durable, and clocks are wrong within the drift. Some clients send invalid transactions, and some peers lie.
//!
//! ```text
//!  seed ─► Plan (forgers, faults, payments) ─► World (one queue of events) ─► audit ─► ChainReport
//! ```
//! The same seed gives the same run. A failure report includes the command that replays it.

mod adversary;
mod audit;
mod bug;
mod equivocator;
mod foe;
mod network;
mod node;
mod plan;
mod report;
mod resign;
mod scenario;
mod siege;
mod simulation;
mod traffic;
mod world;

pub use bug::ChainBug;
pub use plan::ChainOptions;
pub use report::{ChainReport, ChainTally};
pub use scenario::Scenario;
pub use simulation::run_chain;
