//! A target with known behaviour, for testing the laboratory itself: what it will measure can be worked out beforehand.
//!
//! Everything about a unit follows from the seed and the unit's number, whatever the order in which units come.
//!
//! Modules in reading order: `behaviour` (what is set), `queue` (when a unit ends), `target` (which can be driven).

mod behaviour;
mod queue;
mod target;

pub use behaviour::{Behaviour, ServiceTime, Stall};
pub use target::Target;
