//! The cell: state shared by a running flow and the engine. The flow issues effects and takes results; the engine
//! delivers results and writes the journal.
//!
//! # Correctness
//! The behaviour of a flow is a function of its start record and the sequence of its inputs, each followed by one poll.
//! Effects are numbered per scope (a flow and each of its sub-flows have their own). So a sub-flow that is skipped on
//! replay does not change the numbers of any other scope.

mod deadlines;
mod effects;
mod input;
mod scope;
mod sessions;
mod slot;
mod state;
mod sub_flows;
mod undo;

pub(crate) use input::Input;
pub(crate) use state::{Cell, Output, Replay};
pub(crate) use sub_flows::SubFlowStart;
