//! What coordinator and agent say to each other: frames of JSON within TLS.

use serde::{Deserialize, Serialize};

use crate::load::engine::{SampleRow, Slice};
use crate::plan::{Load, Work};
use crate::results::Stretch;
use crate::workload::SiteBooks;

/// Which form of these messages this program speaks; both ends must speak the same.
pub(super) const PROTOCOL: u32 = 1;
/// The version of this program, which must be the same too: agents run the workloads' code.
pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// From the coordinator.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Ask {
    /// The first message.
    Hello {
        protocol: u32,
        version: String,
        /// That it knows the token, on this connection.
        proof: Vec<u8>,
    },
    /// What time is it there?
    Clock { number: u32 },
    /// Get ready for a stretch.
    Prepare(Box<Job>),
    /// Begin it at this time of the agent's clock.
    Begin { at_us: u64 },
    /// Start nothing more.
    Stop,
    /// The stretch is not going to begin.
    Forget,
    /// Still here.
    Alive,
}

/// From an agent.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Tell {
    Welcome {
        protocol: u32,
        version: String,
        proof: Vec<u8>,
    },
    /// It wants nothing to do with this coordinator; the last message.
    Refused {
        code: String,
        message: String,
    },
    Time {
        number: u32,
        now_us: u64,
    },
    /// Workers are set up.
    Ready,
    /// They could not be, or not be torn down.
    Failed {
        code: String,
        message: String,
    },
    /// What happened since the last report.
    Report(Box<Progress>),
    /// The stretch as a whole; the books are what was not reported yet, with the stores as they are now.
    Ended {
        stretch: Box<Stretch>,
        rest: Box<Progress>,
    },
}

/// One stretch of one agent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Job {
    /// Banks, in order.
    pub banks: Vec<NodeAccess>,
    /// Streams to each.
    pub streams: u32,
    pub work: Vec<Work>,
    /// Decides which work a unit is: the same for all agents.
    pub mix_seed: u64,
    pub load: Load,
    pub workers: u32,
    pub warm_up_us: u64,
    pub measured_us: u64,
    pub count: Option<u64>,
    pub seed: u64,
    /// The first unit's number.
    pub units_from: u64,
    pub unfinished_after_us: u64,
    /// What it may take out of the site's stores, and nothing else.
    pub books: SiteBooks,
    /// Whether it sends a row for each unit.
    pub rows: bool,
}

/// How to reach a node.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct NodeAccess {
    pub name: String,
    pub address: String,
    pub server_name: String,
    pub root_pem: String,
    pub token: String,
}

/// Without the token.
impl std::fmt::Debug for NodeAccess {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} at {}", self.name, self.address)
    }
}

/// What happened since the last report.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Progress {
    /// Units outstanding, warm-up included.
    pub outstanding: u64,
    pub slices: Vec<Slice>,
    pub rows: Vec<SampleRow>,
    pub books: SiteBooks,
}
