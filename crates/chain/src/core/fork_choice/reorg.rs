//! The state of a reorg.

use std::collections::VecDeque;

use primitives::Hash;

use crate::block::CheckedBlock;
use crate::core::PeerId;
use crate::core::orders::Order;
use crate::state::Point;
use crate::{Height, TxId};

/// A block of the branch.
#[derive(Debug)]
pub(in crate::core) enum ReorgBlock {
    /// A block in memory.
    Here(Box<CheckedBlock>),
    /// A block in the table `Side`.
    Side(Hash),
}

impl ReorgBlock {
    pub(in crate::core) fn hash(&self) -> Hash {
        match self {
            Self::Here(block) => block.hash,
            Self::Side(hash) => *hash,
        }
    }
}

/// The cause of a reorg.
#[derive(Debug)]
pub(in crate::core) enum ReorgCause {
    /// A better branch, with the peer that sent it.
    Better(Option<PeerId>),
    /// An operator's order to roll blocks back. No branch is applied afterwards.
    Ordered(Order),
    /// A crash left side blocks that follow the tip. They join again, and none are rolled back.
    Resumed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReorgPhase {
    /// Our blocks are rolled back to the common one.
    RollBack,
    /// The blocks of the branch join.
    Apply,
    /// One of them was bad. Those that joined are rolled back.
    Unwind,
    /// Our old blocks join again.
    Restore,
}

/// A reorg in progress.
#[derive(Debug)]
pub(in crate::core) struct Reorg {
    pub(super) phase: ReorgPhase,
    pub(super) common: Height,
    /// The cumulative work of our old branch.
    pub(super) old_difficulty: u128,
    /// Our blocks that were rolled back, the last one first.
    pub(super) old: Vec<Hash>,
    pub(super) branch: VecDeque<ReorgBlock>,
    pub(super) cause: ReorgCause,
    /// Transactions of the blocks that were rolled back.
    pub(super) returned: Vec<TxId>,
}

impl Reorg {
    pub(in crate::core) fn new(
        common: Height,
        old_difficulty: u128,
        branch: Vec<ReorgBlock>,
        cause: ReorgCause,
    ) -> Self {
        Self {
            phase: ReorgPhase::RollBack,
            common,
            old_difficulty,
            old: Vec::new(),
            branch: branch.into(),
            cause,
            returned: Vec::new(),
        }
    }
}

impl Reorg {
    /// Returns whether the branch was dropped and our old blocks have joined again.
    pub(super) fn is_undone(&self) -> bool {
        self.phase == ReorgPhase::Restore
    }

    /// Asserts that the chain has not lost work, except by an operator's order.
    pub(super) fn assert_over(&self, tip: &Point) {
        assert!(
            tip.height >= self.common,
            "the tip at {} is below the common block at {}",
            tip.height,
            self.common
        );
        assert!(
            self.branch.is_empty(),
            "{} blocks of the branch are left",
            self.branch.len()
        );
        match self.cause {
            ReorgCause::Ordered(_) => assert_eq!(tip.height, self.common),
            _ if self.is_undone() => assert_eq!(tip.difficulty, self.old_difficulty),
            _ => assert!(tip.difficulty >= self.old_difficulty, "work was lost"),
        }
    }

    /// Returns whether this completes a reorg that a crash interrupted. The pool's rows are not read yet in that case.
    pub(in crate::core) fn is_resumption(&self) -> bool {
        matches!(self.cause, ReorgCause::Resumed)
    }
}
