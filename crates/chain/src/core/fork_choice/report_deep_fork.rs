//! Branches that fork off too deep are ignored and reported. This node keeps its own branch, and its operator decides.

use primitives::Hash;

use super::deep_fork::DeepFork;
use crate::Height;
use crate::core::sync::PeerBranch;
use crate::core::{Action, Core, Notice, PeerId};
use crate::port::{Reads, Table};
use crate::state::Branch;

impl<R: Reads<Table>> Core<R> {
    /// Reports a branch whose judged headers are better than ours and that forks off beyond the rollback limit. The first report
    /// stays until our own branch has as much work, or an operator intervenes.
    pub(in crate::core) fn report_deep_fork(
        &mut self,
        common: Height,
        other: Hash,
        difficulty: u128,
    ) {
        self.counters.deep_branches += 1;
        if self.deep_fork.is_some() {
            return;
        }
        self.deep_fork = Some(DeepFork {
            common,
            other,
            difficulty,
        });
        self.actions
            .push(Action::Notice(Box::new(Notice::DeepFork { common, other })));
    }

    /// Reports a claimed branch that cannot be judged, because no row bounds the stake of its forgers. The claim may be false, so
    /// this node keeps its own branch. The operator is told once for each peer while it is connected.
    pub(in crate::core) fn report_unverifiable(&mut self, peer: PeerId, common: Height) {
        self.counters.deep_branches += 1;
        let Some(known) = self.peers.get_mut(&peer) else {
            return;
        };
        let other = known.status.map_or(Hash::ZERO, |status| status.tip);
        if std::mem::replace(&mut known.deep_fork_reported, true) {
            return;
        }
        self.actions.push(Action::Notice(Box::new(Notice::TooDeep {
            peer,
            common,
            other,
        })));
    }

    /// Returns whether a branch forks off deeper than the rollback limit. If it does, reports it and ignores its peer for a
    /// while.
    pub(in crate::core) fn is_too_deep(&mut self, candidate: &PeerBranch) -> bool {
        let common = candidate
            .branch
            .as_ref()
            .map_or(Height::GENESIS, Branch::common);
        // A branch that begins above our tip rolls no block back.
        let depth = self.rows.tip().height.blocks_since(common).unwrap_or(0);
        if depth <= self.genesis.params.rollback_blocks_max {
            return false;
        }
        if let Some((header, hash)) = candidate.headers.last() {
            self.report_deep_fork(common, *hash, header.difficulty);
        }
        self.branch_failed(candidate.peer);
        true
    }
}
