//! Adds pending blocks, and processes them when their time or their predecessor has come.

use primitives::Hash;

use super::pending::{PendingBlock, PendingStage, Release};
use crate::core::{Core, Verdict};
use crate::port::{Reads, StoreFailure, Table};

impl<R: Reads<Table>> Core<R> {
    pub(in crate::core) fn is_pending(&self, hash: &Hash) -> bool {
        self.pending.iter().any(|pending| pending.hash == *hash)
    }

    pub(in crate::core) fn add_pending(&mut self, pending: PendingBlock) {
        if let Some(dropped) = self.pending.add(pending) {
            self.ignore_pending(&dropped);
        }
    }

    /// Gives up a pending block. If it matters, a status question finds it again.
    fn ignore_pending(&mut self, pending: &PendingBlock) {
        if let PendingStage::Orphan { message, .. } = pending.stage {
            self.verdict(message, Verdict::Ignore);
        }
    }

    /// Processes pending blocks that have waited long enough or now follow the tip.
    pub(in crate::core) fn release_pending(
        &mut self,
        release: Release,
    ) -> Result<(), StoreFailure> {
        if self.pending.is_empty() || self.reorg.is_some() {
            return Ok(());
        }
        let own_turn = match release {
            Release::BeforeOwn => self.due_turn_time()?,
            Release::All => None,
        };
        let mut at = 0;
        // A block may begin a reorg that continues in the next round. Until the reorg ends, all pending blocks wait.
        while at < self.pending.len() && self.reorg.is_none() {
            let Some(pending) = self.pending.get(at) else {
                return Ok(());
            };
            let ready = match &pending.stage {
                PendingStage::Orphan { announcement, .. } => {
                    announcement.header.previous == self.rows.tip().hash
                }
                PendingStage::Early(_) => pending.due <= self.now,
            };
            let is_after_own = own_turn.is_some_and(|own| pending.due >= own)
                && matches!(pending.stage, PendingStage::Early(_));
            let late = pending.due <= self.now;
            if is_after_own {
                at += 1;
                continue;
            }
            if !ready && !late {
                at += 1;
                continue;
            }
            let pending = self.pending.take(at);
            match pending.stage {
                PendingStage::Orphan {
                    peer,
                    message,
                    announcement,
                } if ready => {
                    self.announced(peer, message, *announcement)?;
                    // The tip may have moved, so blocks that were skipped may follow it now.
                    at = 0;
                }
                PendingStage::Orphan { message, .. } => self.verdict(message, Verdict::Ignore),
                PendingStage::Early(block) => {
                    self.accept_block(*block)?;
                    at = 0;
                }
            }
        }
        Ok(())
    }
}
