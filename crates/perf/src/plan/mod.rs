//! Scenario files: the network to bring up, the work, the load and its duration, and the settings to vary.
//!
//! [`Plan`] is a scenario as it will run: every default filled in, every value checked. [`open()`] makes one of a file or
//! of the name of a shipped one, [`Plan::points`] goes through its sweep, [`Plan::to_toml`] writes it again.
//!
//! ```text
//! file --toml--> document --[full], --set--> document --schema, complete, serde, rules--> Plan --cases--> its points
//! ```
//! - `fields` lists every key with its range and default, for the checks and for the reference page.
//! - `document` has the values with their places in the file, so that error messages can show them, and `lay` changes them.
//! - `schema` checks each key by its field. `complete` fills in the defaults, and serde makes the plan by the attributes of
//!   the `model`. `rules` refuses contradictions.
//!
//! This module runs nothing, and no input makes it panic.

mod assemble;
mod cases;
pub(crate) mod chain;
mod checks;
mod complete;
mod complete_chain;
mod csv;
mod document;
mod error;
mod expected;
mod fields;
mod lay;
mod limits;
mod model;
mod network;
mod open;
mod overlay;
pub(crate) mod pace;
mod points;
mod problems;
mod reference;
mod rules;
mod same_work;
mod schema;
mod shipped;
mod source;
#[cfg(test)]
mod tests;

pub use cases::{Axis, Case};
pub use chain::{Bundlers, ChainAccount, ChainPlan, ChainServers};
pub use checks::{Checks, KnobError, NoChecks};
pub use error::{ERRORS, PlanError, Problem, nearest};
pub use fields::METRICS;
pub use limits::EACH_UNIT_MAX;
pub use model::{
    Audit, Closed, Fault, FaultKind, Knee, Load, Monitors, Open, Plan, PublishedLine, Restart, Run,
    Shape, Step, Think, Work,
};
pub use network::{
    ConnectorProgram, DatabaseKind, Link, Network, NodeSettings, NotaryBackend, NotaryKind, Target,
};
pub use open::{Options, open, parse};
pub use points::PointPlan;
pub use reference::reference_page;
pub use same_work::{is_same_work, recorded_points};
pub use shipped::{SHIPPED, Shipped, shipped};
pub use source::Place;
