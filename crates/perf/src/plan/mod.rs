//! Scenario files: what to bring up, what to do with it, how hard and how long, and what to vary.
//!
//! [`Plan`] is a scenario as it will run: every default filled in, every value checked. [`open()`] makes one of a file or
//! of the name of a shipped one, [`Plan::points`] goes through its sweep, [`Plan::to_toml`] writes it again.
//!
//! ```text
//! file --tree--> document --[full], --set--> document --read--> Plan --cases--> a Plan for each point
//! ```
//! Every value of a document knows where it stands until the end, so that whatever is wrong can be shown. Nothing here
//! runs anything, and no text can make it panic.

pub(crate) mod chain;
mod checks;
mod error;
mod expected;
mod fields;
mod limits;
mod model;
mod open;
mod overlay;
mod points;
mod read;
mod reader;
mod reference;
mod shipped;
mod source;
#[cfg(test)]
mod tests;
mod tree;
mod write;

pub use chain::{ChainAccount, ChainPlan, ChainServers};
pub use checks::{Checks, KnobError, NoChecks};
pub use error::{ERRORS, PlanError, Problem, nearest};
pub use fields::METRICS;
pub use model::{
    Audit, Axis, Case, Closed, Knee, Link, Load, Monitors, Network, NodeSettings, NotaryKind, Open,
    Plan, PublishedLine, Restart, Run, Shape, Step, Target, Think, Work,
};
pub use open::{Options, open, parse};
pub use points::PointPlan;
pub use reference::reference_page;
pub use shipped::{SHIPPED, Shipped, shipped};
pub use source::Place;
