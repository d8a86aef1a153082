//! A better branch forks off deeper than this node may roll back: it stops following, and says so.

use primitives::Hash;

use super::follow::State;
use super::{Action, Core, Notice};
use crate::port::{Reads, Table};

/// Why this node has stopped following.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// The last block that both have.
    pub common: u32,
    /// The other branch's last block that was seen.
    pub other: Hash,
}

impl<R: Reads<Table>> Core<R> {
    pub(super) fn become_stuck(&mut self, common: u32, other: Hash) {
        self.following.state = State::Idle;
        self.assemblies.clear();
        self.stuck = Some(Stuck { common, other });
        self.actions
            .push(Action::Notice(Box::new(Notice::Stuck { common, other })));
    }
}
