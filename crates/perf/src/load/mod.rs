//! Load: drivers of work, and the results of a stretch.

mod coroutines;
mod driver;
pub mod engine;
mod flows;
mod followers;
mod live;
mod open;
mod singles;
mod starts;

pub use coroutines::{Coroutines, NO_PYTHON, NotRun};
pub use driver::{Fault, Load, Window, Work, window};
pub use flows::FlowWork;
pub use followers::Followers;
pub use live::{Live, LiveReading};
pub use open::{Arrivals, Arrived, arrivals};
pub use singles::SingleStarts;
pub use starts::{Starts, Ways};
