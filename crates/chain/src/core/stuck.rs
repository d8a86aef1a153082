//! Branches that fork off too deep are ignored and reported. This node keeps its own branch, and its operator decides.

use primitives::Hash;

use super::{Action, Core, Notice, PeerId};
use crate::port::{Reads, Table};

/// A better branch that forks off beyond the rollback limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// Height of the last common block.
    pub common: u32,
    /// The last judged block of the other branch.
    pub other: Hash,
    /// The cumulative work up to that block. The report ends when our own branch has as much.
    pub difficulty: u128,
}

impl<R: Reads<Table>> Core<R> {
    /// Reports a branch whose judged headers are better than ours and that forks off beyond the rollback limit. The first report
    /// stays until our own branch has as much work, or an operator intervenes.
    pub(super) fn report_deep(&mut self, common: u32, other: Hash, difficulty: u128) {
        self.counters.deep_branches += 1;
        if self.stuck.is_some() {
            return;
        }
        self.stuck = Some(Stuck {
            common,
            other,
            difficulty,
        });
        self.actions
            .push(Action::Notice(Box::new(Notice::Stuck { common, other })));
    }

    /// Ends the report when our own branch has as much work as the reported one.
    pub(super) fn outgrow_deep(&mut self) {
        let difficulty = self.rows.tip().difficulty;
        self.stuck = self.stuck.filter(|stuck| stuck.difficulty > difficulty);
    }

    /// Reports a claimed branch that cannot be judged, because no row bounds the stake of its forgers. The claim may be false, so
    /// this node keeps its own branch. The operator is told once for each peer while it is connected.
    pub(super) fn cannot_judge(&mut self, peer: PeerId, common: u32) {
        self.counters.deep_branches += 1;
        let Some(known) = self.peers.get_mut(&peer) else {
            return;
        };
        let other = known.status.map_or(Hash::ZERO, |status| status.tip);
        if std::mem::replace(&mut known.too_deep_said, true) {
            return;
        }
        self.actions.push(Action::Notice(Box::new(Notice::TooDeep {
            peer,
            common,
            other,
        })));
    }
}
