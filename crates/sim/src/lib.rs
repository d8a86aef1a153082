//! Whole networks in one thread from one seed: two banks, an exchange and two notaries, with real kernels and real flows, over a
//! simulated network, clock, disk and vault view. Nodes crash at any step. An auditor predicts the results and checks them.
//!
//! ```text
//!  seed ─► Plan (flows of clients, times of the faults) ─► World (one queue of events) ─► Trace, Report
//!             │                                               │  kernels, disks, links, views
//!             └────────────── predictions ─► Auditor ◄────────┘  everything that leaves a node
//! ```
//! The same seed gives the same trace, byte for byte. A failure report includes the command that replays it.

mod adversary;
mod auditor;
pub mod chain;
mod chance;
mod clients;
mod committer;
mod converse;
mod disk;
mod epilogue;
mod file_audit;
mod files;
mod final_audit;
mod flow_registry;
mod history_audit;
mod links;
mod membership;
mod node;
mod options;
mod phase;
mod plan;
mod planned_flow;
mod repeater;
mod report;
mod run;
mod stories;
mod swaps;
mod swarm;
mod trace;
mod view;
mod workers;
mod workload;
mod world;

pub use adversary::Adversary;
pub use auditor::Violation;
pub use options::{Bug, SimOptions};
pub use report::{Report, Tally};
pub use run::{run, run_all, run_like};
