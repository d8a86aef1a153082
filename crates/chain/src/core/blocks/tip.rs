//! The tip of the chain. Blocks join it and are rolled back, and the pool, the rows of locally accepted transactions and the
//! followers are updated.

use primitives::Hash;

use super::faults::{BodyFault, NotApplied};
use crate::block::{CarriedBlock, CheckedBlock, read_carried_body};
use crate::core::fork_choice::{ReorgBlock, ReorgCause};
use crate::core::limits::{PRUNE_ROWS, points};
use crate::core::{Action, Core, Notice, PeerId};
use crate::port::{Reads, StoreFailure, Table, damaged};
use crate::state::{BlockFault, apply_block, check_shape, prune, read, undo_block};
use crate::transaction::Body;
use crate::{Header, Height, TxId};

impl<R: Reads<Table>> Core<R> {
    /// Returns whether the hash belongs to a block of the chain.
    pub(in crate::core) fn is_block(&self, hash: &Hash) -> Result<bool, StoreFailure> {
        Ok(self.height_of(hash)?.is_some())
    }

    /// Returns the height of a block of the chain.
    pub(in crate::core) fn height_of(&self, hash: &Hash) -> Result<Option<Height>, StoreFailure> {
        read::height_of(&self.rows, hash)
    }

    /// Returns the hash of the chain's block at a height.
    pub(in crate::core) fn hash_at(&self, height: Height) -> Result<Option<Hash>, StoreFailure> {
        self.rows.hash_at(height)
    }

    /// Returns whether a transaction is in a block.
    pub(in crate::core) fn is_confirmed(&self, id: &TxId) -> Result<bool, StoreFailure> {
        self.rows.contains(id)
    }

    /// Decodes a body and checks that it matches the header's commitment and that its signatures are valid.
    pub(in crate::core) fn read_body(
        &mut self,
        header: Header,
        hash: Hash,
        bytes: &[u8],
    ) -> Result<CheckedBlock, BodyFault> {
        let body = read_carried_body(&self.genesis.hash, bytes, self.genesis.transactions_max())
            .map_err(|rejection| BodyFault::Sender(rejection.code))?;
        let block = CarriedBlock { header, hash, body };
        self.check_without_state(&block)?;
        let unknown = block.transactions().filter(|carried| {
            let known = self.pool.get(&carried.id);
            known.is_none_or(|known| known.transaction.signature != carried.transaction.signature)
        });
        let unknown: Vec<_> = unknown.collect();
        let signed = unknown.iter().map(|carried| carried.signed_message());
        let verdicts = self.checker.check_all(signed, unknown.len());
        if verdicts.contains(&false) {
            return Err(BodyFault::Sender("chain_tx.signature"));
        }
        // The header's signature was checked before its body was requested.
        Ok(CheckedBlock::from_checked_parts(block))
    }

    /// Checks the rules of a block that need no state. The hash of a block that breaks one is remembered.
    fn check_without_state(&mut self, block: &CarriedBlock) -> Result<(), BodyFault> {
        match check_shape(&self.genesis, block) {
            Ok(()) => Ok(()),
            Err(BlockFault::Invalid(rejection)) => {
                self.mark_invalid(block.hash, rejection.code);
                Err(BodyFault::Block(rejection.code))
            }
            Err(BlockFault::Body(rejection)) => Err(BodyFault::Sender(rejection.code)),
            Err(BlockFault::NotNext | BlockFault::Store(_)) => {
                Err(BodyFault::Sender("chain_block.body_mismatch"))
            }
        }
    }

    /// Accepts a complete block whose time has come. It joins the chain, or replaces the tip if it is better.
    pub(in crate::core) fn accept_block(
        &mut self,
        block: CheckedBlock,
    ) -> Result<(), StoreFailure> {
        let tip = self.rows.tip();
        if self.reorg.is_some() || self.invalid.contains(&block.hash) {
            return Ok(());
        }
        if block.header.previous == tip.hash {
            return self.apply_and_settle(block, false).map(drop);
        }
        let Some(common) = tip.height.previous() else {
            return Ok(());
        };
        let competes = block.header.height == tip.height;
        if !competes || !self.beats_ours(&block.header, block.header.difficulty, &block.hash)? {
            return Ok(());
        }
        // No tip is rolled back for a block that its own contents refute. A block after the tip is checked when it is applied.
        if self.hash_at(common)? == Some(block.header.previous)
            && self.check_without_state(&block).is_ok()
        {
            let step = ReorgBlock::Here(Box::new(block));
            self.begin_reorg(common, vec![step], ReorgCause::Better(None));
            self.step_reorg()?;
        }
        Ok(())
    }

    /// Appends a block to the chain and settles the pool.
    pub(in crate::core) fn apply_and_settle(
        &mut self,
        block: CheckedBlock,
        own: bool,
    ) -> Result<Result<(), NotApplied>, StoreFailure> {
        let appended = self.apply(&block, own)?;
        if appended.is_ok() {
            self.settle_pool()?;
        }
        Ok(appended)
    }

    /// Applies a block that follows the tip, as a whole or not at all. The hash of a block that breaks a rule is remembered. The
    /// pool is not settled here.
    pub(in crate::core) fn apply(
        &mut self,
        block: &CheckedBlock,
        own: bool,
    ) -> Result<Result<(), NotApplied>, StoreFailure> {
        let before = self.rows.tip().clone();
        let applied = match apply_block(&mut self.rows, &self.genesis, block) {
            Ok(applied) => applied,
            Err(BlockFault::Store(failure)) => return Err(failure),
            Err(BlockFault::Invalid(rejection)) => {
                self.mark_invalid(block.hash, rejection.code);
                return Ok(Err(NotApplied::Invalid(rejection.code)));
            }
            Err(BlockFault::Body(rejection)) => return Ok(Err(NotApplied::Body(rejection.code))),
            Err(BlockFault::NotNext) => return Ok(Err(NotApplied::NotNext)),
        };
        let tip = self.rows.tip();
        assert_eq!((tip.hash, tip.height), (applied.hash(), applied.height()));
        assert_eq!(tip.height, before.next_height());
        assert!(tip.difficulty >= before.difficulty && tip.time > before.time);
        let kept = self.settings.bodies_kept;
        prune(&mut self.rows, &self.genesis, kept, PRUNE_ROWS)?;
        self.pool.block_added(block);
        self.rates.record.added(block);
        self.count_spent(block, true)?;
        for carried in block.transactions() {
            self.forget_local(&carried.id);
            self.counters.transactions += 1;
        }
        self.parts_tip_moved();
        self.actions.push(Action::Notice(Box::new(Notice::Added {
            header: block.header.clone(),
            hash: block.hash,
            own,
        })));
        Ok(Ok(()))
    }

    /// Rolls the last block back. The block is kept in the table `Side`, and its transactions return to the pool.
    pub(in crate::core) fn roll_back_tip(&mut self) -> Result<CheckedBlock, StoreFailure> {
        let before = self.rows.tip().clone();
        let block = match undo_block(&mut self.rows, &self.genesis) {
            Ok(block) => block,
            Err(fault) => return Err(damaged(fault.rejection()?.to_string())),
        };
        let tip = self.rows.tip();
        assert_eq!(
            (block.hash, tip.next_height()),
            (before.hash, before.height)
        );
        assert_eq!(
            tip.hash, block.header.previous,
            "a block follows its parent"
        );
        self.side_blocks.put(&mut self.rows, &block);
        self.rates.record.popped(block.header.height);
        self.pool.block_popped(&block, self.timestamp_now());
        self.count_spent(&block, false)?;
        for carried in block.transactions() {
            let bundled = matches!(carried.transaction.body, Body::ChildBlock { .. });
            if !bundled && self.pool.contains(&carried.id) {
                self.keep_local(carried);
            }
        }
        self.parts_tip_moved();
        self.actions.push(Action::Notice(Box::new(Notice::Popped {
            header: block.header.clone(),
            hash: block.hash,
        })));
        Ok(block)
    }

    /// Records a block that breaks a rule, regardless of the peer that sent it.
    pub(in crate::core) fn mark_invalid(&mut self, hash: Hash, code: &'static str) {
        self.counters.bad_blocks += 1;
        self.counters.last_bad = Some(code);
        self.invalid.insert(hash);
    }

    /// Penalises the peer that gave a branch with a block that does not join through the peer's fault.
    pub(in crate::core) fn penalise_source(&mut self, peer: Option<PeerId>, reason: NotApplied) {
        if let (Some(peer), Some(code)) = (peer, reason.code()) {
            self.penalise(peer, points::BAD_BLOCK, code);
        }
    }
}
