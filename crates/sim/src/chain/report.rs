//! The outcome of a run.

use std::ops::AddAssign;

use super::{ChainOptions, Scenario};

/// Counters of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChainTally {
    /// Blocks of the winning chain.
    pub blocks: u64,
    /// Transactions in it.
    pub transactions: u64,
    /// Transactions that nodes accepted from clients.
    pub accepted: u64,
    /// Transactions that nodes refused.
    pub refused: u64,
    /// Copies of earlier transactions with another signature that clients sent.
    pub resigned: u64,
    /// Accepted transactions that left the pool with a reason.
    pub left: u64,
    /// Reorgs, over all nodes.
    pub forks: u64,
    /// Blocks rolled back in the deepest reorg.
    pub deepest_fork: u32,
    /// Crashes.
    pub crashes: u64,
    /// Batches lost in crashes.
    pub batches_lost: u64,
    /// Messages lost in transit.
    pub messages_lost: u64,
    /// Attacks by adversaries.
    pub attacks: u64,
    /// Times that an adversary was banned.
    pub bans: u64,
    /// Times that a node disconnected a silent peer.
    pub dismissed: u64,
    /// Blocks of the winning chain that the node with the fast clock forged.
    pub fast_blocks: u64,
    /// Times that a node reported a branch too deep to be judged or followed.
    pub deep_branches: u64,
    /// Evidence of equivocation, over all nodes.
    pub evidence: u64,
}

impl AddAssign for ChainTally {
    fn add_assign(&mut self, other: Self) {
        self.blocks += other.blocks;
        self.transactions += other.transactions;
        self.accepted += other.accepted;
        self.refused += other.refused;
        self.resigned += other.resigned;
        self.left += other.left;
        self.forks += other.forks;
        self.deepest_fork = self.deepest_fork.max(other.deepest_fork);
        self.crashes += other.crashes;
        self.batches_lost += other.batches_lost;
        self.messages_lost += other.messages_lost;
        self.attacks += other.attacks;
        self.bans += other.bans;
        self.dismissed += other.dismissed;
        self.fast_blocks += other.fast_blocks;
        self.deep_branches += other.deep_branches;
        self.evidence += other.evidence;
    }
}

/// A run's outcome.
#[derive(Clone, Debug)]
pub struct ChainReport {
    /// The options of the run.
    pub options: ChainOptions,
    /// The violations, empty for a clean run.
    pub violations: Vec<String>,
    /// The counters.
    pub tally: ChainTally,
    /// A hash of the whole trace. The same seed gives the same hash.
    pub trace: u64,
    /// The trace as text, if it was kept.
    pub text: Option<String>,
}

impl ChainReport {
    /// Returns whether no rule was violated.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.violations.is_empty()
    }

    /// Returns the violations and the command that replays them.
    #[must_use]
    pub fn failure(&self) -> String {
        let ChainOptions {
            seed,
            nodes,
            scenario,
            ..
        } = self.options;
        let scenario = match scenario {
            Scenario::Mixed => String::new(),
            other => format!(" --scenario {other}"),
        };
        let nodes = match nodes {
            0 => String::new(),
            nodes => format!(" --nodes {nodes}"),
        };
        format!(
            "chain, seed {seed}: {}\nreplay: cargo run --profile checked -p sim -- --chain --seed {seed}{nodes}{scenario} --trace",
            self.violations.join("\n  ")
        )
    }
}
