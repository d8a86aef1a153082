//! A reorg, step by step. Blocks are rolled back one by one, and the blocks of the branch join one by one. If one of them is bad,
//! the old blocks join again. Operators' rollback orders and the completion of an interrupted reorg work in the same way. Each
//! round does a part, and the next round continues.

use primitives::Hash;

use super::reorg::{Cause, Phase, Step, Switch};
use crate::block::CarriedBlock;
use crate::core::blocks::NotJoined;
use crate::core::limits::{ANEW_MAX, ROUND_BYTES};
use crate::core::{Action, Core, Notice};
use crate::port::{Reads, StoreFailure, Table, damaged};

impl<R: Reads<Table>> Core<R> {
    pub(in crate::core) fn begin_switch(&mut self, common: u32, branch: Vec<Step>, cause: Cause) {
        let difficulty = self.rows.tip().difficulty;
        self.switch = Some(Switch::new(common, difficulty, branch, cause));
    }

    /// Continues a reorg as far as one round may.
    pub(in crate::core) fn step_switch(&mut self) -> Result<(), StoreFailure> {
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
            // These blocks do not join again, so the table `Side` is trimmed meanwhile.
            self.side.trim(&mut self.rows);
        }
        self.more = true;
        self.switch = Some(switch);
        Ok(())
    }

    /// Rolls back or applies one block and returns its weight in bytes. Returns `None` when the reorg is complete.
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
                match self.append(&block, false)? {
                    Ok(()) => self.side.remove(&mut self.rows, &block.hash),
                    Err(reason) => self.branch_broken(switch, block.hash, reason),
                }
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
                if let Err(reason) = self.append(&block, false)? {
                    let code = reason.code().unwrap_or("it does not follow the tip");
                    return Err(damaged(format!(
                        "block {} was on the chain and does not come back: {code}",
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

    /// Ends the branch before a block that does not join. If the block breaks a rule, all blocks after it are remembered as bad.
    /// The blocks that joined before it stay if they have more work than our old branch.
    fn branch_broken(&mut self, switch: &mut Switch, hash: Hash, reason: NotJoined) {
        if let Cause::Better(from) = switch.cause {
            self.blame(from, reason);
        }
        for dropped in std::iter::once(hash).chain(switch.branch.iter().map(Step::hash)) {
            if matches!(reason, NotJoined::Invalid(_)) {
                self.bad.insert(dropped);
            }
            self.side.remove(&mut self.rows, &dropped);
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
}
