//! Load: how work is driven and what a stretch of it gave.

mod driver;
mod live;

pub use driver::{Fault, Load, Window, Work, window};
pub use live::{Live, LiveReading};
