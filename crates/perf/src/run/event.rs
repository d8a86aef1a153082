//! What a run tells whoever watches it, as it happens.

use std::path::PathBuf;
use std::sync::Arc;

use crate::load::Live;
use crate::results::{AuditResult, Finding, Scenario, Stretch};
use crate::workload::Site;

/// One thing that happened. Every [`Event::Began`] is followed by an [`Event::Ended`] before anything else begins.
#[derive(Clone)]
pub enum Event {
    /// A scenario began.
    Scenario {
        /// Its short name.
        name: String,
        /// One line for people.
        title: String,
        /// Its points.
        points: usize,
        /// Stretches of load in all.
        stretches: usize,
    },
    /// A step without a measure of its own began.
    Began(Step),
    /// The step ended.
    Ended {
        /// Whether it went well.
        well: bool,
        /// What came of it, for people; empty if it turned out that there was nothing to do.
        words: String,
    },
    /// A preparation begins; the site says how far it is.
    Preparing(Arc<Site>),
    /// A stretch of load begins.
    Load {
        /// Its point and repeat, for people.
        label: String,
        /// Seconds that it takes at most, with its warm-up; more where it is a search.
        seconds: f64,
        /// What it does, as it does it.
        live: Arc<Live>,
    },
    /// A stretch of load has ended.
    Loaded {
        /// As it was announced.
        label: String,
        /// What it gave.
        stretch: Arc<Stretch>,
    },
    /// What an audit said.
    Audited(AuditResult),
    /// Something that people should know.
    Found(Finding),
    /// A network was left running, as was asked for.
    Kept {
        /// Its folder.
        folder: PathBuf,
        /// Its processes.
        pids: Vec<u32>,
    },
    /// A scenario is over.
    Over(Arc<Scenario>),
}

/// A step without a measure of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The machine's limits are measured.
    Machine,
    /// A network comes up.
    Network,
    /// Nodes are restarted.
    Restart,
    /// A prepared network is copied.
    Snapshot,
    /// A copy is put back.
    Restore,
    /// A network loses its data.
    Wipe,
    /// Coins, back chains and the like are made.
    Preparation,
    /// A chain's pools empty, and its nodes come to one tip.
    Settle,
    /// What somebody else's banks gave for the load, such as mandates, is taken back.
    TakingBack,
    /// Everybody's books are read and compared.
    Audit,
}

impl Step {
    /// For people.
    pub fn as_str(self) -> &'static str {
        match self {
            Step::Machine => "Machine's limits",
            Step::Network => "Network",
            Step::Restart => "Restart",
            Step::Snapshot => "Snapshot",
            Step::Restore => "Restore",
            Step::Wipe => "Wipe",
            Step::Preparation => "Preparation",
            Step::Settle => "Settling",
            Step::TakingBack => "Taking back",
            Step::Audit => "Audit",
        }
    }
}

/// Where events go. Called from the runner's task: it must not block.
pub type Events = Arc<dyn Fn(Event) + Send + Sync>;
