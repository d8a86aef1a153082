//! Figures of a core, for people and metrics.

use super::follow::State;
use super::questions::Purpose;
use super::stuck::Stuck;
use super::{Core, PeerId};
use crate::bundle::BundlerRules;
use crate::message::Status;
use crate::pool::PoolFigures;
use crate::port::{Reads, Table};
use crate::state::Point;
use crate::{AccountId, ChainId};

/// What is counted since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Counters {
    pub(super) accepted: u64,
    pub(super) refused: u64,
    pub(super) transactions: u64,
    pub(super) forged: u64,
    pub(super) failed_forgings: u64,
    pub(super) bundled: u64,
    pub(super) forks: u64,
    pub(super) deepest_fork: u32,
    pub(super) deep_branches: u64,
    pub(super) bad_blocks: u64,
    pub(super) last_bad: Option<&'static str>,
    pub(super) equivocations: u64,
    pub(super) last_equivocation: Option<[u8; 32]>,
    pub(super) forged_again: u64,
    pub(super) turns_refused: u64,
}

/// A key that forges here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForgerFigures {
    /// Its account.
    pub account: AccountId,
    /// The key.
    pub key: [u8; 32],
    /// The second, since genesis, at which it may forge after the tip; nothing without enough stake.
    pub turn: Option<u32>,
}

/// An account that bundles here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundlerFigures {
    /// Its account.
    pub account: AccountId,
    /// The key.
    pub key: [u8; 32],
    /// The child chain.
    pub child: ChainId,
    /// What it carries, and for how much.
    pub rules: BundlerRules,
}

/// Where a core stands, and what it has done since it was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figures {
    /// The tip.
    pub tip: Point,
    /// The pool.
    pub pool: PoolFigures,
    /// Peers connected.
    pub peers: usize,
    /// The height that is being caught up to, while a better branch is downloaded.
    pub catching_up_to: Option<u32>,
    /// Why it has stopped following, if it has.
    pub stuck: Option<Stuck>,
    /// Questions to peers under way.
    pub questions: usize,
    /// Questions for the headers of peers' branches under way.
    pub headers_asked: usize,
    /// Announced blocks that are being put together.
    pub assemblies: usize,
    /// Transactions taken into the pool.
    pub accepted: u64,
    /// Transactions refused, by clients' and peers' fault alike.
    pub refused: u64,
    /// Transactions in blocks that joined, those of branches that lost included.
    pub transactions: u64,
    /// Blocks forged here.
    pub forged: u64,
    /// Blocks forged here that broke a rule: a fault of this program.
    pub failed_forgings: u64,
    /// Child blocks made here.
    pub bundled: u64,
    /// Changes of branch.
    pub forks: u64,
    /// Blocks that the deepest of them took back.
    pub deepest_fork: u32,
    /// How often a peer's branch was found to fork off so deep that it cannot even be judged.
    pub deep_branches: u64,
    /// Blocks of others that broke a rule.
    pub bad_blocks: u64,
    /// The code of the last one.
    pub last_bad: Option<&'static str>,
    /// Second blocks of a forger on a parent that were noticed.
    pub equivocations: u64,
    /// The forger of the last one.
    pub last_equivocation: Option<[u8; 32]>,
    /// Evidence of such blocks that is kept.
    pub evidence: usize,
    /// Own blocks that joined again after they were taken back.
    pub forged_again: u64,
    /// Turns that a key here let pass, since it had signed a block on this parent that is here no more.
    pub turns_refused: u64,
}

impl<R: Reads<Table>> Core<R> {
    /// Where it stands, and what it has done.
    #[must_use]
    pub fn figures(&self) -> Figures {
        let counters = &self.counters;
        Figures {
            tip: self.rows.tip().clone(),
            pool: self.pool.figures(),
            peers: self.peers.len(),
            catching_up_to: match &self.following.state {
                State::Bodies(download) => Some(download.target()),
                State::Idle | State::Headers(_) => None,
            },
            stuck: self.stuck,
            questions: self.questions.count(|_| true),
            headers_asked: self
                .questions
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
            last_equivocation: counters.last_equivocation,
            evidence: self.evidence.count(),
            forged_again: counters.forged_again,
            turns_refused: counters.turns_refused,
        }
    }

    /// The keys that forge here.
    #[must_use]
    pub fn forging(&self) -> Vec<ForgerFigures> {
        self.forgers()
            .into_iter()
            .map(|(account, key, turn)| ForgerFigures { account, key, turn })
            .collect()
    }

    /// The accounts that bundle here.
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

    /// The connected peers, and where they say they stand.
    #[must_use]
    pub fn peers(&self) -> Vec<(PeerId, Option<Status>)> {
        self.peers
            .iter()
            .map(|(id, peer)| (*id, peer.status))
            .collect()
    }
}
