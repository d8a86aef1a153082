//! A change of branch, step by step: blocks are taken back one by one, those of the branch join one by one; if one of them is bad the
//! old ones come back. Operators' orders to take blocks back go the same way, and so does what a crash has left undone: a round does
//! so much of it, and the next one goes on.

use std::collections::VecDeque;

use primitives::Hash;

use super::limits::{ANEW_MAX, ROUND_BYTES};
use super::orders::Order;
use super::{Action, Core, Notice, PeerId};
use crate::TxId;
use crate::block::CarriedBlock;
use crate::port::{Reads, StoreFailure, Table, damaged};

/// A block of the branch.
#[derive(Debug)]
pub(super) enum Step {
    /// In memory.
    Here(Box<CarriedBlock>),
    /// In the table `Side`.
    Side(Hash),
}

impl Step {
    pub(super) fn hash(&self) -> Hash {
        match self {
            Self::Here(block) => block.hash,
            Self::Side(hash) => *hash,
        }
    }
}

/// What a change of branch is for.
#[derive(Debug)]
pub(super) enum Cause {
    /// A better branch; who gave it.
    Better(Option<PeerId>),
    /// An operator's order: blocks are taken back, and none join.
    Ordered(Order),
    /// A crash left blocks beside the chain that follow its tip: they join again, and none are taken back.
    Resumed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Our blocks are taken back to the common one.
    Back,
    /// The branch's join.
    Forth,
    /// One of them was bad: those that joined are taken back.
    Unwind,
    /// Our blocks join again.
    Restore,
}

/// A change of branch under way.
#[derive(Debug)]
pub(super) struct Switch {
    phase: Phase,
    common: u32,
    /// What we had.
    old_difficulty: u128,
    /// Our blocks that were taken back, the last one first.
    old: Vec<Hash>,
    branch: VecDeque<Step>,
    cause: Cause,
    /// Transactions that were taken back.
    returned: Vec<TxId>,
}

impl Switch {
    pub(super) fn new(common: u32, old_difficulty: u128, branch: Vec<Step>, cause: Cause) -> Self {
        Self {
            phase: Phase::Back,
            common,
            old_difficulty,
            old: Vec::new(),
            branch: branch.into(),
            cause,
            returned: Vec::new(),
        }
    }
}

impl Switch {
    /// Whether it takes up what a crash has left undone: the pool's rows are not read yet.
    pub(super) fn is_resumption(&self) -> bool {
        matches!(self.cause, Cause::Resumed)
    }
}

impl<R: Reads<Table>> Core<R> {
    /// Goes on with a change of branch as far as a round may.
    pub(super) fn step_switch(&mut self) -> Result<(), StoreFailure> {
        let Some(mut switch) = self.switch.take() else {
            return Ok(());
        };
        let mut bytes = 0;
        while bytes < ROUND_BYTES {
            match self.one_step(&mut switch)? {
                Some(done) => bytes += done,
                None => return self.switched(switch),
            }
        }
        if matches!(switch.cause, Cause::Ordered(_)) {
            // They do not come back: what is beside the chain keeps within its limits meanwhile.
            self.side.trim(&mut self.rows);
        }
        self.more = true;
        self.switch = Some(switch);
        Ok(())
    }

    /// One block back or forth, and its bytes; nothing when the change is over.
    fn one_step(&mut self, switch: &mut Switch) -> Result<Option<usize>, StoreFailure> {
        let weight = |block: &CarriedBlock| block.header.body_bytes as usize + 4_096;
        match switch.phase {
            Phase::Back => {
                if self.rows.tip().height <= switch.common {
                    switch.phase = Phase::Forth;
                    return Ok(Some(0));
                }
                let block = self.take_back()?;
                switch.old.push(block.hash);
                let room = ANEW_MAX.saturating_sub(switch.returned.len());
                let ids = block.transactions().map(|carried| carried.id);
                switch.returned.extend(ids.take(room));
                Ok(Some(weight(&block)))
            }
            Phase::Forth => {
                let Some(step) = switch.branch.pop_front() else {
                    return Ok(None);
                };
                let block = match step {
                    Step::Here(block) => *block,
                    Step::Side(hash) => self.read_side(&hash)?,
                };
                let code = match self.append(&block, false)? {
                    Ok(()) => {
                        self.side.remove(&mut self.rows, &block.hash);
                        return Ok(Some(weight(&block)));
                    }
                    Err(rejection) => rejection.code,
                };
                self.branch_is_bad(switch, block.hash, code);
                Ok(Some(weight(&block)))
            }
            Phase::Unwind => {
                if self.rows.tip().height <= switch.common {
                    switch.phase = Phase::Restore;
                    return Ok(Some(0));
                }
                Ok(Some(weight(&self.take_back()?)))
            }
            Phase::Restore => {
                let Some(hash) = switch.old.pop() else {
                    return Ok(None);
                };
                let block = self.read_side(&hash)?;
                if let Err(rejection) = self.append(&block, false)? {
                    return Err(damaged(format!(
                        "block {} was on the chain and does not come back: {rejection}",
                        block.header.height
                    )));
                }
                self.side.remove(&mut self.rows, &hash);
                Ok(Some(weight(&block)))
            }
        }
    }

    fn read_side(&self, hash: &Hash) -> Result<CarriedBlock, StoreFailure> {
        self.side
            .get(&self.rows, &self.genesis, hash)?
            .ok_or_else(|| damaged(format!("block {hash} is not beside the chain")))
    }

    /// A block of the branch breaks a rule: it and what follows it are remembered. What joined before it stays if it has more work than what we had.
    fn branch_is_bad(&mut self, switch: &mut Switch, hash: Hash, code: &'static str) {
        self.found_bad(hash, code);
        if let Cause::Better(from) = switch.cause {
            self.blame(from, code);
        }
        for bad in std::iter::once(hash).chain(switch.branch.iter().map(Step::hash)) {
            self.bad.insert(bad);
            self.side.remove(&mut self.rows, &bad);
        }
        switch.branch.clear();
        if self.rows.tip().difficulty <= switch.old_difficulty {
            switch.phase = Phase::Unwind;
        }
    }

    fn switched(&mut self, switch: Switch) -> Result<(), StoreFailure> {
        let restored = switch.phase == Phase::Restore;
        let depth = u32::try_from(switch.old.len()).unwrap_or(u32::MAX);
        match switch.cause {
            Cause::Better(_) => {}
            Cause::Ordered(order) => return self.rolled_back(order, switch.common, depth),
            Cause::Resumed => return self.restore_side(),
        }
        if !restored && depth > 0 {
            self.counters.forks += 1;
            self.counters.deepest_fork = self.counters.deepest_fork.max(depth);
            self.actions.push(Action::Notice(Box::new(Notice::Forked {
                common: switch.common,
                depth,
            })));
        }
        self.drop_lost_anchors(switch.common)?;
        self.settle_pool()?;
        for id in switch.returned {
            if self.anew.len() < ANEW_MAX && self.pool.contains(&id) {
                self.anew.push_back(id);
            }
        }
        self.side.trim(&mut self.rows);
        self.tell_where_we_stand();
        Ok(())
    }

    /// Takes out of the pool what refers to blocks above `common` that are no longer on the chain. No depth of the change says that there is
    /// nothing to do: after a change to a shorter branch, the next one may be shallower than the youngest allowed anchor.
    pub(super) fn drop_lost_anchors(&mut self, common: u32) -> Result<(), StoreFailure> {
        let rows = &self.rows;
        let mut failure = None;
        self.pool
            .drop_lost_anchors(common, |anchor| match rows.hash_at(anchor.height) {
                Ok(hash) => hash.is_some_and(|hash| hash.as_bytes()[..8] == anchor.id),
                Err(error) => {
                    failure = Some(error);
                    true
                }
            });
        failure.map_or(Ok(()), Err)
    }
}
