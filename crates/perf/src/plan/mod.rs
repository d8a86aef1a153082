//! Scenario files: the network to bring up, the work, the load and its duration, and the settings to vary.
//!
//! [`Plan`] is a scenario as it will run: every default filled in, every value checked. [`open()`] makes one of a file or
//! of the name of a shipped one, [`Plan::points`] goes through its sweep, [`Plan::to_toml`] writes it again.
//!
//! ```text
//! file --tree--> document --[full], --set--> document --read--> Plan --cases--> a Plan for each point
//! ```
//! Every value of a document keeps its place, so that error messages can show it. This module runs nothing, and no input
//! makes it panic.

pub(crate) mod chain;
mod checks;
mod error;
mod expected;
mod fields;
mod limits;
mod model;
mod open;
mod overlay;
pub(crate) mod pace;
mod points;
mod read;
mod reader;
mod reference;
mod same_work;
mod shipped;
mod source;
#[cfg(test)]
mod tests;
mod tree;
mod write;

pub use chain::{Bundlers, ChainAccount, ChainPlan, ChainServers};
pub use checks::{Checks, KnobError, NoChecks};
pub use error::{ERRORS, PlanError, Problem, nearest};
pub use fields::METRICS;
pub use limits::EACH_UNIT_MAX;
pub use model::{
    Audit, Axis, Case, Closed, ConnectorProgram, DatabaseKind, Fault, FaultKind, Knee, Link, Load,
    Monitors, Network, NodeSettings, NotaryBackend, NotaryKind, Open, Plan, PublishedLine, Restart,
    Run, Shape, Step, Target, Think, Work,
};
pub use open::{Options, open, parse};
pub use points::PointPlan;
pub use reference::reference_page;
pub use same_work::{is_same_work, recorded_points};
pub use shipped::{SHIPPED, Shipped, shipped};
pub use source::Place;
