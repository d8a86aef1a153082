//! Branches that fork off too deep are ignored and reported: this node goes on with its own, and its operator decides.

use primitives::Hash;

use super::{Action, Core, Notice, PeerId};
use crate::port::{Reads, Table};

/// A better branch that forks off deeper than this node rolls back by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// The last block that both have.
    pub common: u32,
    /// The other branch's last block that was judged.
    pub other: Hash,
    /// The work up to that block. The report ends when our own branch has more.
    pub difficulty: u128,
}

impl<R: Reads<Table>> Core<R> {
    /// Reports a branch whose judged headers are better than ours and that forks off beyond the rollback limit. The first report counts
    /// until our own branch has more work, or an operator speaks.
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

    /// Ends the report when our own branch has as much work as the one reported.
    pub(super) fn outgrow_deep(&mut self) {
        let difficulty = self.rows.tip().difficulty;
        self.stuck = self.stuck.filter(|stuck| stuck.difficulty > difficulty);
    }

    /// Reports a claimed branch that cannot be judged, since no row bounds the stake of its forgers. The claim may be a lie, so this node goes
    /// on with its own branch. Its operator is told once for each peer while the peer is connected.
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
