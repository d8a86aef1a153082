//! Figures of a core, for display and metrics.

use super::fork_choice::DeepFork;
use super::peers::Purpose;
use super::sync::SyncStage;
use super::{Core, PeerId};
use crate::bundle::BundlerRules;
use crate::message::Status;
use crate::pool::PoolFigures;
use crate::port::{Reads, Table};
use crate::state::Point;
use crate::{AccountId, BlockTimestamp, ChainId, Height};

/// A key that forges on this node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForgerFigures {
    /// Its account.
    pub account: AccountId,
    /// The key.
    pub key: [u8; 32],
    /// The time of its turn after the tip. `None` without enough stake.
    pub turn: Option<BlockTimestamp>,
}

/// An account that bundles on this node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundlerFigures {
    /// Its account.
    pub account: AccountId,
    /// The key.
    pub key: [u8; 32],
    /// The child chain.
    pub child: ChainId,
    /// The rules for the transactions that it carries, and their fees.
    pub rules: BundlerRules,
}

/// The state of a core, and its counters since it was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figures {
    /// The tip of the chain.
    pub tip: Point,
    /// The counts of the pool.
    pub pool: PoolFigures,
    /// Number of connected peers.
    pub peers: usize,
    /// The target height while a better branch is downloaded.
    pub catching_up_to: Option<Height>,
    /// The report of a better branch beyond the rollback limit, if there is one.
    pub deep_fork: Option<DeepFork>,
    /// Open questions to peers.
    pub questions: usize,
    /// Open questions for the headers of peers' branches.
    pub headers_asked: usize,
    /// Announced blocks that are being assembled.
    pub assemblies: usize,
    /// Transactions accepted into the pool.
    pub accepted: u64,
    /// Refused transactions, from clients and from peers.
    pub refused: u64,
    /// Transactions in blocks that joined, including blocks that were rolled back later.
    pub transactions: u64,
    /// Blocks forged on this node.
    pub forged: u64,
    /// Blocks forged on this node that broke a rule. Such a block is a defect of this program.
    pub failed_forgings: u64,
    /// Child blocks made on this node.
    pub bundled: u64,
    /// Reorgs.
    pub forks: u64,
    /// Number of blocks rolled back in the deepest reorg.
    pub deepest_fork: u32,
    /// Number of times that a peer's branch forked off too deep to be judged or followed.
    pub deep_branches: u64,
    /// Blocks that broke a rule.
    pub bad_blocks: u64,
    /// The error code of the last such block.
    pub last_bad: Option<&'static str>,
    /// Noticed second blocks of a forger on one parent.
    pub equivocations: u64,
    /// Number of pieces of evidence that are kept.
    pub evidence: usize,
    /// Own blocks that joined again after they were rolled back.
    pub forged_again: u64,
    /// Turns that a local key skipped, because it had signed a block on this parent that the store no longer has.
    pub turns_refused: u64,
}

impl<R: Reads<Table>> Core<R> {
    /// Returns the state and the counters.
    #[must_use]
    pub fn figures(&self) -> Figures {
        let counters = &self.counters;
        Figures {
            tip: self.rows.tip().clone(),
            pool: self.pool.figures(),
            peers: self.peers.len(),
            catching_up_to: match &self.sync.state {
                SyncStage::Bodies(download) => Some(download.target()),
                SyncStage::Idle | SyncStage::Headers(_) => None,
            },
            deep_fork: self.deep_fork,
            questions: self.requests.count(|_| true),
            headers_asked: self
                .requests
                .count(|purpose| matches!(purpose, Purpose::Headers(_))),
            assemblies: self.assemblies.len(),
            accepted: counters.accepted,
            refused: counters.refused,
            transactions: counters.transactions,
            forged: counters.forged,
            failed_forgings: counters.failed_forgings,
            bundled: counters.bundled,
            forks: counters.forks,
            deepest_fork: counters.deepest_fork,
            deep_branches: counters.deep_branches,
            bad_blocks: counters.bad_blocks,
            last_bad: counters.last_bad,
            equivocations: counters.equivocations,
            evidence: self.evidence.count(),
            forged_again: counters.forged_again,
            turns_refused: counters.turns_refused,
        }
    }

    /// Returns the keys that forge on this node.
    #[must_use]
    pub fn forging(&self) -> Vec<ForgerFigures> {
        self.forgers()
            .into_iter()
            .map(|(account, key, turn)| ForgerFigures { account, key, turn })
            .collect()
    }

    /// Returns the accounts that bundle on this node.
    #[must_use]
    pub fn bundlers(&self) -> Vec<BundlerFigures> {
        self.bundling
            .keyed()
            .map(|(key, bundler)| BundlerFigures {
                account: AccountId::of_key(key),
                key: *key,
                child: bundler.rules.child,
                rules: bundler.rules.clone(),
            })
            .collect()
    }

    /// Returns the connected peers with their last status.
    #[must_use]
    pub fn peers(&self) -> Vec<(PeerId, Option<Status>)> {
        self.peers
            .iter()
            .map(|(id, peer)| (*id, peer.status))
            .collect()
    }
}
