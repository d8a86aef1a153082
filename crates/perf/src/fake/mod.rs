//! A target with known behaviour, for testing the laboratory itself: the correct measurement can be computed beforehand.
//!
//! Everything about a unit follows from the seed and the unit's number, independent of the order of arrival.
//!
//! Modules in reading order: `behaviour` (settings), `queue` (a unit's end time), `target` (the target to drive).

mod behaviour;
mod queue;
mod target;

pub use behaviour::{Behaviour, ServiceTime, Stall};
pub use target::Target;
