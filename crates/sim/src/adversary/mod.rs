//! Members that do harm. Each seed has one of them, and honest nodes must still reach the predicted end.

mod asked;
mod clocks;
mod garbage;
mod kind;
mod replayer;
mod replays;
mod silence;
mod timed;
mod trusting;

use flow::FlowRegistry;

pub(crate) use asked::Notarisation;
pub(crate) use clocks::{ClockFault, clock_faults};
pub(crate) use garbage::Garbage;
pub use kind::Adversary;
pub(crate) use replayer::{LATER_US, Presented, Replayer};
pub(crate) use silence::{SILENT, Silence, SilenceStage, is_caused};
pub(crate) use timed::TimedArgs;

/// Registers the flows that adversaries start.
pub(crate) fn register(flows: &mut FlowRegistry) {
    flows.register::<replays::Replay>();
    flows.register::<timed::Timed>();
}
