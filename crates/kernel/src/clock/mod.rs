//! The node's wall clock: jumps, and the agreement of peers and the operator with it.

mod questions;
mod watch;

pub(crate) use questions::asking_of;
pub(crate) use watch::ClockWatch;
pub use watch::{ClockFigures, ClockJump};
