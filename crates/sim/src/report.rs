//! The report of a simulation.

use primitives::Hash;

use crate::{SimOptions, Violation};

/// Counters of a run. Tests use them to check that the faults took effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Flows that clients started.
    pub flows: u64,
    /// Crashes.
    pub crashes: u64,
    /// Batches that were written and lost in a crash.
    pub batches_lost: u64,
    /// Connections that broke.
    pub breaks: u64,
    /// Messages sent.
    pub messages: u64,
    /// Messages that never arrived.
    pub messages_lost: u64,
    /// Flows that ended because their client cancelled them.
    pub cancelled: u64,
    /// Transactions recorded by all flows.
    pub transactions: u64,
    /// Files that arrived.
    pub files: u64,
    /// Sessions that one run of a node refused to the member that opened too many. This is the maximum over all nodes.
    pub sessions_refused: u64,
    /// Nodes that were put back on a disk older than theirs.
    pub rollbacks: u64,
    /// Runs that ended because the only witness of a rollback connected too late.
    pub late_witnesses: u64,
    /// Flows of older copies, answering peers, that an operator resumed after the recovery.
    pub resumed: u64,
    /// Nodes that showed a rolled-back node only a mark from before its copy was made.
    pub old_marks: u64,
    /// Sessions and messages that were replayed.
    pub replays: u64,
    /// Times that a clock was set.
    pub clock_jumps: u64,
    /// Times that a counterparty fell silent.
    pub silences: u64,
    /// Garbage messages sent.
    pub garbage: u64,
    /// Rounds in which a node slowed down the sender of garbage.
    pub slowed: u64,
    /// Times that a node cut off the sender of garbage.
    pub cut_offs: u64,
    /// Rows that were deleted from the flow history.
    pub pruned: u64,
    /// Simulated time, in milliseconds.
    pub simulated_ms: u64,
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.flows += other.flows;
        self.crashes += other.crashes;
        self.batches_lost += other.batches_lost;
        self.breaks += other.breaks;
        self.messages += other.messages;
        self.messages_lost += other.messages_lost;
        self.cancelled += other.cancelled;
        self.transactions += other.transactions;
        self.files += other.files;
        self.sessions_refused += other.sessions_refused;
        self.rollbacks += other.rollbacks;
        self.old_marks += other.old_marks;
        self.resumed += other.resumed;
        self.late_witnesses += other.late_witnesses;
        self.replays += other.replays;
        self.clock_jumps += other.clock_jumps;
        self.silences += other.silences;
        self.garbage += other.garbage;
        self.slowed += other.slowed;
        self.cut_offs += other.cut_offs;
        self.pruned += other.pruned;
        self.simulated_ms += other.simulated_ms;
    }
}

/// The result of a simulation.
#[derive(Clone, Debug)]
pub struct Report {
    /// The options of the run.
    pub options: SimOptions,
    /// The hash of the trace.
    pub trace: Hash,
    /// The number of lines in the trace.
    pub lines: u64,
    /// The text of the trace, if it was kept.
    pub text: Option<String>,
    /// The violations that the auditor found.
    pub violations: Vec<Violation>,
    /// The counters.
    pub tally: Tally,
}

impl Report {
    /// Returns whether the auditor found no violation.
    pub fn is_clean(&self) -> bool {
        self.violations.is_empty()
    }

    /// Returns the violations and the command that replays them.
    pub fn failure(&self) -> String {
        let each = self.violations.iter().map(|v| format!("  {v}\n"));
        format!(
            "seed {}: {} violations\n{}replay: {}",
            self.options.seed,
            self.violations.len(),
            each.collect::<String>(),
            self.options.command()
        )
    }
}
