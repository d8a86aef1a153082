//! The flow engine: polls flows by hand, journals their inputs, and replays them after a restart.
//!
//! ```text
//!  start ─────────┐   one input, one step              ┌── Effect, Cancel    to the node's services
//!  complete ──────┤   (take_ready, run, stepped)       ├── SendSession       to the outbox of a peer
//!  on_session ────┼──> flow ──> what it asked for ──>  ├── Ended, Forget     to the client; the journal is deleted
//!  kill, pause ───┤                                    ├── Parked, Retrying, Paused, Chart    to the hospital
//!  resume, retry ─┘                                    └── Progress
//!  end_of_round ────> one Journal row for each flow that gained something
//! ```
//!
//! # Invariants
//! - Everything emitted in a round leaves the node only after the round's batch (with its journal rows) is durable. Replay
//!   relies on it: output from before the last row is not sent again.
//! - The engine never calls out. An effect may be completed while the actions of the same call are still being executed.
//! - No journal content and no message of a peer makes the engine panic. A flow that panics is ended or parked alone.

mod actions;
mod flow_engine;
mod idle;
mod kill;
mod load;
mod loaded;
mod parked;
mod pause;
mod replay;
mod run;
mod sessions;
mod set_aside;
mod shares;
mod status;
mod step;

pub use actions::EngineAction;
pub use flow_engine::FlowEngine;
pub use kill::Kill;
pub use loaded::Loaded;
pub use pause::Pause;
pub use shares::{PeerUsage, RESPONDER_BYTES};
pub use status::{FlowStatus, MissingVersion, Stage};
pub use step::{FlowStep, FlowStepped};
