//! A reorg, step by step. Blocks are rolled back one by one, and the blocks of the branch join one by one. If one of them is bad,
//! the old blocks join again. Operators' rollback orders and the completion of an interrupted reorg work in the same way. Each
//! round does a part, and the next round continues.

use std::collections::HashSet;

use primitives::Hash;

use super::reorg::{Reorg, ReorgBlock, ReorgCause, ReorgPhase};
use crate::Height;
use crate::block::{CarriedBlock, CheckedBlock};
use crate::core::blocks::NotApplied;
use crate::core::limits::{REGOSSIP_MAX, ROUND_BYTES};
use crate::core::{Action, Core, Notice};
use crate::port::{Reads, StoreFailure, Table, damaged};

impl<R: Reads<Table>> Core<R> {
    pub(in crate::core) fn begin_reorg(
        &mut self,
        common: Height,
        branch: Vec<ReorgBlock>,
        cause: ReorgCause,
    ) {
        let difficulty = self.rows.tip().difficulty;
        assert!(self.reorg.is_none(), "one reorg at a time");
        assert!(
            common <= self.rows.tip().height,
            "{common} is above the tip"
        );
        self.reorg = Some(Reorg::new(common, difficulty, branch, cause));
    }

    /// Continues a reorg as far as one round may.
    pub(in crate::core) fn step_reorg(&mut self) -> Result<(), StoreFailure> {
        let Some(mut reorg) = self.reorg.take() else {
            return Ok(());
        };
        let mut bytes = 0;
        while bytes < ROUND_BYTES {
            match self.step_block(&mut reorg)? {
                Some(done) => bytes += done,
                None => return self.end_reorg(reorg),
            }
        }
        if matches!(reorg.cause, ReorgCause::Ordered(_)) {
            // These blocks do not join again, so the table `Side` is trimmed meanwhile.
            self.side_blocks.trim(&mut self.rows, &HashSet::new());
        }
        self.more = true;
        self.reorg = Some(reorg);
        Ok(())
    }

    /// Rolls back or applies one block and returns its weight in bytes. Returns `None` when the reorg is complete.
    fn step_block(&mut self, reorg: &mut Reorg) -> Result<Option<usize>, StoreFailure> {
        let weight = |block: &CarriedBlock| block.header.body_bytes as usize + 4_096;
        match reorg.phase {
            ReorgPhase::RollBack => {
                if self.rows.tip().height <= reorg.common {
                    reorg.phase = ReorgPhase::Apply;
                    return Ok(Some(0));
                }
                let block = self.roll_back_tip()?;
                reorg.old.push(block.hash);
                let room = REGOSSIP_MAX - reorg.returned.len();
                let ids = block.transactions().map(|carried| carried.id);
                reorg.returned.extend(ids.take(room));
                Ok(Some(weight(&block)))
            }
            ReorgPhase::Apply => {
                let Some(step) = reorg.branch.pop_front() else {
                    return Ok(None);
                };
                let block = match step {
                    ReorgBlock::Here(block) => *block,
                    ReorgBlock::Side(hash) => self.read_side(&hash)?,
                };
                match self.apply(&block, false)? {
                    Ok(()) => self.side_blocks.remove(&mut self.rows, &block.hash),
                    Err(reason) => self.drop_branch(reorg, block.hash, reason),
                }
                Ok(Some(weight(&block)))
            }
            ReorgPhase::Unwind => {
                if self.rows.tip().height <= reorg.common {
                    reorg.phase = ReorgPhase::Restore;
                    return Ok(Some(0));
                }
                let block = self.roll_back_tip()?;
                Ok(Some(weight(&block)))
            }
            ReorgPhase::Restore => {
                let Some(hash) = reorg.old.pop() else {
                    return Ok(None);
                };
                let block = self.read_side(&hash)?;
                if let Err(reason) = self.apply(&block, false)? {
                    // A block that does not follow the tip has no fault of its own.
                    let code = reason.code().unwrap_or("chain_block.not_next");
                    return Err(damaged(format!(
                        "block {} was on the chain and cannot join again: {code}",
                        block.header.height
                    )));
                }
                self.side_blocks.remove(&mut self.rows, &hash);
                Ok(Some(weight(&block)))
            }
        }
    }

    fn read_side(&self, hash: &Hash) -> Result<CheckedBlock, StoreFailure> {
        self.side_blocks
            .get(&self.rows, &self.genesis, hash)?
            .ok_or_else(|| damaged(format!("side block {hash} is missing")))
    }

    /// Ends the branch before a block that does not join. If the block breaks a rule, all blocks after it are remembered as invalid.
    /// The blocks that joined before it stay if they have more work than our old branch.
    fn drop_branch(&mut self, reorg: &mut Reorg, hash: Hash, reason: NotApplied) {
        if let ReorgCause::Better(from) = reorg.cause {
            self.penalise_source(from, reason);
        }
        for dropped in std::iter::once(hash).chain(reorg.branch.iter().map(ReorgBlock::hash)) {
            if matches!(reason, NotApplied::Invalid(_)) {
                self.invalid.insert(dropped);
            }
            self.side_blocks.remove(&mut self.rows, &dropped);
        }
        reorg.branch.clear();
        if self.rows.tip().difficulty <= reorg.old_difficulty {
            reorg.phase = ReorgPhase::Unwind;
        }
    }

    fn end_reorg(&mut self, reorg: Reorg) -> Result<(), StoreFailure> {
        let restored = reorg.is_undone();
        let depth = u32::try_from(reorg.old.len()).expect("heights have 32 bits");
        reorg.assert_over(self.rows.tip());
        match reorg.cause {
            ReorgCause::Better(_) => {}
            ReorgCause::Ordered(order) => return self.rolled_back(order, reorg.common, depth),
            ReorgCause::Resumed => return self.restore_side(),
        }
        if !restored && depth > 0 {
            self.counters.forks += 1;
            self.counters.deepest_fork = self.counters.deepest_fork.max(depth);
            self.actions.push(Action::Notice(Box::new(Notice::Forked {
                common: reorg.common,
                depth,
            })));
        }
        self.drop_lost_anchors(reorg.common)?;
        self.settle_pool()?;
        for id in reorg.returned {
            if self.regossip.len() < REGOSSIP_MAX && self.pool.contains(&id) {
                self.regossip.push_back(id);
            }
        }
        self.announce_status();
        Ok(())
    }
}
