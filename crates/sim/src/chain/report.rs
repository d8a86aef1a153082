//! What came of a run.

use std::ops::AddAssign;

use super::{ChainOptions, Scenario};

/// What happened, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChainTally {
    /// Blocks of the winning chain.
    pub blocks: u64,
    /// Transactions in it.
    pub transactions: u64,
    /// Transactions that nodes accepted from clients.
    pub accepted: u64,
    /// And refused.
    pub refused: u64,
    /// Copies of earlier ones with another signature that clients have sent.
    pub resigned: u64,
    /// Accepted ones that left with a reason.
    pub left: u64,
    /// Changes of branch, over all nodes.
    pub forks: u64,
    /// Blocks that the deepest took back.
    pub deepest_fork: u32,
    /// Crashes.
    pub crashes: u64,
    /// Batches that crashes have lost.
    pub batches_lost: u64,
    /// Messages that were lost on their way.
    pub messages_lost: u64,
    /// What adversaries did.
    pub attacks: u64,
    /// Times that an adversary was banned.
    pub bans: u64,
    /// Times that a silent peer lost its connection.
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
    /// Which run.
    pub options: ChainOptions,
    /// What does not hold; empty for a clean run.
    pub violations: Vec<String>,
    /// What happened.
    pub tally: ChainTally,
    /// A hash of everything that happened: the same for the same seed.
    pub trace: u64,
    /// What happened as text, if it was kept.
    pub text: Option<String>,
}

impl ChainReport {
    /// Nothing was violated.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.violations.is_empty()
    }

    /// What is wrong, and the command that replays it.
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
            "chain, seed {seed}: {}\nreplay: cargo run --release -p sim -- --chain --seed {seed}{nodes}{scenario} --trace",
            self.violations.join("\n  ")
        )
    }
}
