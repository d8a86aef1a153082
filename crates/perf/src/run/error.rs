//! Errors that end a scenario.

use primitives::{Coded, ErrorInfo};
use thiserror::Error;

use crate::plan::PlanError;
use crate::topology::NetworkError;
use crate::workload::{Failed, MixError, SiteError};

/// Codes of runs, and of warnings about their results.
pub const ERRORS: &[ErrorInfo] = &[
    ErrorInfo {
        code: AUDIT_FAILED,
        cause: "After a run the books of nodes and notary contradict each other or the acknowledgements that the load received, or could not be read.",
        action: "Discard the figures of the run. Read the findings of its audit, and run again with --keep to examine the network.",
    },
    ErrorInfo {
        code: "lab.interrupted",
        cause: "A run was stopped early, by Ctrl-C or a signal.",
        action: "Run it again; the report contains the measurements made until then.",
    },
    ErrorInfo {
        code: LINKS_ENDED,
        cause: "A network was kept running that had links of the laboratory's own between its nodes ([network.link]).",
        action: "Look at its nodes one by one; to have them reach each other, keep a network without links.",
    },
    ErrorInfo {
        code: NODE_DIED,
        cause: "A node exited while it was under load.",
        action: "Read the end of its log, which is printed with this message. Check whether the system killed it for lack of memory.",
    },
    ErrorInfo {
        code: NOT_STEADY,
        cause: "The rate of a stretch rose or fell by more than 5 % from its beginning to its end, beyond noise.",
        action: "Look at the rate over time. Give the stretch a longer warm-up (run.warm_up_s), or more time to find the level at which it stays.",
    },
    ErrorInfo {
        code: OTHER_HOSTS,
        cause: "The nodes of a run ran on other machines (--host). The machine that the report describes is the coordinator's.",
        action: "State next to the figures what those machines and the network between them are.",
    },
    ErrorInfo {
        code: REPEATS_MISSING,
        cause: "A point has fewer repeats than the scenario asks for, because the run ended early.",
        action: "Expect wider intervals, or run it again.",
    },
    ErrorInfo {
        code: RUN_FAILED,
        cause: "A scenario could not be run to its end.",
        action: "The report gives the reason at this scenario. Other scenarios are not affected.",
    },
    ErrorInfo {
        code: SAMPLES_PARTIAL,
        cause: "The file of samples does not have every unit, or could not be written.",
        action: "The report's figures still cover all units. To keep every sample, shorten the run, or give its folder a faster or larger disk.",
    },
    ErrorInfo {
        code: SHORT_WINDOW,
        cause: "A stretch of load completed too few units, or was too short, for its figures to mean much.",
        action: "Give it more time (run.seconds) or more units (run.count).",
    },
    ErrorInfo {
        code: TOO_FEW_CORES,
        cause: "A point gives a node more cores than this machine has for it (nodes.NAME.cores), so it was left out; on fewer cores its figures would be those of another point.",
        action: "Run it on a machine with as many cores, or leave the case out (--set sweep.LABEL.only=[...]).",
    },
    ErrorInfo {
        code: UNITS_FAILED,
        cause: "Units of a run failed. They are not counted as completed.",
        action: "Look at the codes with the stretch; under admission control refusals are expected.",
    },
];

/// A run whose audit fails is a failed run.
pub const AUDIT_FAILED: &str = "lab.audit_failed";
/// At least one scenario failed.
pub const RUN_FAILED: &str = "lab.run_failed";
pub(super) const LINKS_ENDED: &str = "lab.links_ended";
pub(super) const NODE_DIED: &str = "lab.node_died";
pub(super) const NOT_STEADY: &str = "lab.not_steady";
pub(super) const OTHER_HOSTS: &str = "lab.other_hosts";
pub(super) const REPEATS_MISSING: &str = "lab.repeats_missing";
pub(super) const SAMPLES_PARTIAL: &str = "lab.samples_partial";
pub(super) const SHORT_WINDOW: &str = "lab.short_window";
pub(super) const TOO_FEW_CORES: &str = "lab.too_few_cores";
pub(super) const UNITS_FAILED: &str = "lab.units_failed";

/// Why a scenario is aborted.
#[derive(Debug, Error)]
pub enum RunError {
    /// A network does not start.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// A node's API fails, or a view does not catch up.
    #[error(transparent)]
    Site(#[from] SiteError),
    /// A workload, a node of a chain or a connector fails.
    #[error("{what}: {failed}")]
    Work {
        /// The operation.
        what: &'static str,
        /// Its failure.
        failed: Failed,
    },
    /// A fault of a node cannot be combined with agents.
    #[error("a scenario with run.fault generates its load here; leave --agent out")]
    FaultAgents,
    /// A connector cannot be reached from agents.
    #[error("a scenario with a connector generates its load here; leave --agent out")]
    ConnectorAgents,
    /// A stretch ended before its fault.
    #[error(
        "the stretch ended before the fault of {0}; make run.fault.at_s smaller than its measured time"
    )]
    FaultMissed(String),
    /// Every point needs more cores than this machine has.
    #[error("every point gives a node more cores than the {0} that this machine has for it")]
    TooFewCores(u32),
    /// The scenario's work is invalid.
    #[error(transparent)]
    Mix(#[from] MixError),
    /// The scenario itself is invalid.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A node ended.
    #[error("{name} ended while it was under load; the end of its log {log}:\n{tail}")]
    NodeDied {
        /// The node.
        name: String,
        /// Its log file.
        log: String,
        /// The last lines of the log.
        tail: String,
    },
    /// A background task ended unexpectedly.
    #[error("a task of the run ended unexpectedly: {0}")]
    Task(#[from] tokio::task::JoinError),
}

impl RunError {
    /// Returns the conversion of a failure of an operation.
    pub(super) fn of<F: Into<Failed>>(what: &'static str) -> impl FnOnce(F) -> Self {
        move |failed| Self::Work {
            what,
            failed: failed.into(),
        }
    }

    /// Returns a stable code.
    pub fn code(&self) -> &str {
        match self {
            RunError::Network(error) => error.code(),
            RunError::Site(error) => error.code(),
            RunError::Work { failed, .. } => &failed.fault.code,
            RunError::FaultAgents
            | RunError::ConnectorAgents
            | RunError::FaultMissed(_)
            | RunError::Mix(_) => "lab.bad_scenario",
            RunError::TooFewCores(_) => TOO_FEW_CORES,
            RunError::Plan(error) => error.code(),
            RunError::NodeDied { .. } => NODE_DIED,
            RunError::Task(_) => RUN_FAILED,
        }
    }
}
