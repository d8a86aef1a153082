//! Load: the engine that drives units, the flows and followers that are not units of its own, and the counts of a load that runs.

mod coroutines;
pub mod engine;
mod fault;
mod followers;
mod live;

pub use coroutines::{Coroutines, NO_PYTHON, NotRun};
pub use fault::Fault;
pub use followers::Followers;
pub use live::{Live, LiveReading};
