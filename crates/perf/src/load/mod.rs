//! Load: how work is driven and what a stretch of it gave.

mod driver;
mod flows;
mod live;

pub use driver::{Fault, Load, Window, Work, window};
pub use flows::FlowWork;
pub use live::{Live, LiveReading};
