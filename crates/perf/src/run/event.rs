//! Progress events of a run.

use std::path::PathBuf;
use std::sync::Arc;

use crate::load::Live;
use crate::results::{AuditResult, Finding, Scenario, Stretch};
use crate::workload::Site;

/// An event. Every [`Event::Began`] is followed by an [`Event::Ended`] before anything else begins.
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
    /// A step without its own progress measure began.
    Began(Step),
    /// The step ended.
    Ended {
        /// Whether it succeeded.
        well: bool,
        /// Its result, for people; empty if there was nothing to do.
        words: String,
    },
    /// A preparation begins. The site reports its progress.
    Preparing(Arc<Site>),
    /// A stretch of load begins.
    Load {
        /// Its point and repeat, for people.
        label: String,
        /// The maximum seconds that it takes, with its warm-up. A search takes longer.
        seconds: f64,
        /// Its live counters.
        live: Arc<Live>,
    },
    /// A stretch of load has ended.
    Loaded {
        /// The label of its announcement.
        label: String,
        /// Its results.
        stretch: Arc<Stretch>,
    },
    /// The result of an audit.
    Audited(AuditResult),
    /// A warning about the results.
    Found(Finding),
    /// A network was left running, as requested.
    Kept {
        /// Its folder.
        folder: PathBuf,
        /// Its processes.
        pids: Vec<u32>,
    },
    /// A scenario is over.
    Over(Arc<Scenario>),
}

/// A step without its own progress measure.
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
    /// Changes made for the load on an existing network, such as mandates, are undone.
    TakingBack,
    /// All books are read and compared.
    Audit,
    /// The size of a chain's database is read: exported, after a shutdown, and after a restart.
    Database,
}

impl Step {
    /// Returns its name for people.
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
            Step::Database => "Database size",
        }
    }
}

/// The destination of events. It is called from the runner's task and must not block.
pub type Events = Arc<dyn Fn(Event) + Send + Sync>;
