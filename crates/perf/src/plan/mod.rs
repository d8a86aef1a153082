//! Scenario files: what to bring up, what to do with it, how hard and how long, and what to vary.
//!
//! [`Plan`] is a scenario as it will run: every default filled in, every value checked.

mod model;

pub use model::{
    Audit, Axis, Case, Closed, Knee, Load, Monitors, Network, NodeSettings, NotaryKind, Open, Plan,
    PublishedLine, Restart, Run, Shape, Step, Target, Think, Work,
};
