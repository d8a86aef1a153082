//! Applies the bodies of a better branch.
//!
//! If the branch follows our tip, its blocks join as they arrive. If it forks off, bodies are stored in the table `Side` until
//! they make it better than our own blocks. No block is rolled back before that.

use std::collections::HashSet;
use std::time::Duration;

use super::body_download::{BodyDownload, DownloadBlock, DownloadStage};
use super::stage::SyncStage;
use crate::ChainTime;
use crate::core::Core;
use crate::core::blocks::NotApplied;
use crate::core::fork_choice::{ReorgBlock, ReorgCause};
use crate::core::limits::{FORGING_PAUSE_PARTS, ROUND_BYTES};
use crate::port::{Reads, StoreFailure, Table, damaged};

impl<R: Reads<Table>> Core<R> {
    /// Returns the time until which forging on our own tip waits for a better branch that is being downloaded. Headers alone
    /// delay forging once for each tip of ours, and each new body delays it again. A branch whose bodies are withheld costs a
    /// quarter of the block time.
    pub(in crate::core) fn forging_paused_until(&self) -> ChainTime {
        match &self.sync.state {
            SyncStage::Bodies(download) => download.pause_until,
            SyncStage::Idle | SyncStage::Headers(_) => ChainTime::GENESIS,
        }
    }

    /// Returns a quarter of the block time.
    pub(in crate::core) fn forging_pause(&self) -> Duration {
        self.genesis.params.block_seconds.duration() / FORGING_PAUSE_PARTS
    }

    /// Lets blocks join, and requests more bodies.
    pub(in crate::core) fn continue_download(&mut self) -> Result<(), StoreFailure> {
        let state = std::mem::replace(&mut self.sync.state, SyncStage::Idle);
        let SyncStage::Bodies(mut download) = state else {
            self.sync.state = state;
            return Ok(());
        };
        if !self.apply_downloaded(&mut download)? {
            return Ok(());
        }
        if self.reorg.is_none() && download.joined == download.blocks.len() {
            for peer in &download.sources {
                self.delivered(*peer);
            }
            self.announce_status();
            return Ok(());
        }
        if self.ask_for_bodies(&mut download) || self.reorg.is_some() || self.more {
            self.sync.state = SyncStage::Bodies(download);
        } else {
            // No peer delivers it now. It may be tried again later.
            for peer in &download.sources {
                self.branch_failed(*peer);
            }
        }
        Ok(())
    }

    /// Lets blocks join that follow the tip, or begins a reorg. Returns false if the branch is no longer useful.
    fn apply_downloaded(&mut self, download: &mut BodyDownload) -> Result<bool, StoreFailure> {
        let mut bytes = 0;
        while self.reorg.is_none() && download.joined < download.blocks.len() {
            let at = download.joined;
            let wanted = &download.blocks[at];
            let hash = wanted.hash;
            if self.invalid.contains(&hash) {
                return Ok(false);
            }
            if matches!(wanted.stage, DownloadStage::Joined) || self.is_block(&hash)? {
                download.set_stage(at, DownloadStage::Joined);
                download.joined += 1;
                continue;
            }
            if wanted.header.previous != self.rows.tip().hash {
                return self.reorg_if_better(download);
            }
            if bytes >= ROUND_BYTES {
                self.more = true;
                return Ok(true);
            }
            let block = match download.set_stage(at, DownloadStage::Joined) {
                DownloadStage::Here(block) => *block,
                DownloadStage::Stored => {
                    let stored = self.side_blocks.get(&self.rows, &self.genesis, &hash)?;
                    let Some(block) = stored else {
                        download.set_stage(at, DownloadStage::Missing);
                        return Ok(true);
                    };
                    self.side_blocks.remove(&mut self.rows, &hash);
                    block
                }
                stage => {
                    download.set_stage(at, stage);
                    return Ok(true);
                }
            };
            bytes += block.header.body_bytes as usize + 4_096;
            if let Err(reason) = self.apply_and_settle(block, false)? {
                if matches!(reason, NotApplied::Invalid(_)) {
                    let rest = &download.blocks[download.joined..];
                    for after in rest.iter().skip_while(|block| block.hash != hash) {
                        self.invalid.insert(after.hash);
                    }
                }
                self.penalise_source(Some(download.peer), reason);
                return Ok(false);
            }
            download.joined += 1;
        }
        Ok(true)
    }

    /// Begins a reorg if the branch forks off and its available bodies make it better than ours.
    fn reorg_if_better(&mut self, download: &mut BodyDownload) -> Result<bool, StoreFailure> {
        let from = download.joined;
        let previous = download.blocks[from].header.previous;
        let Some(common) = self.height_of(&previous)? else {
            // Our own chain has changed below the branch. Begin again.
            return Ok(false);
        };
        let depth = self.rows.tip().height.blocks_since(common);
        let stands_there = self.hash_at(common)? == Some(previous);
        let Some(depth) = depth.filter(|_| stands_there) else {
            return Err(damaged(format!(
                "the index entry of block {previous} names height {common}, where another block is"
            )));
        };
        if depth > self.genesis.params.rollback_blocks_max || !self.can_roll_back_to(common)? {
            return Ok(false);
        }
        // A reorg to a body that is no longer stored could not be completed.
        let held: HashSet<_> = self.side_blocks.hashes().into_iter().collect();
        download.mark_lost_missing(&held);
        let there = download.blocks[from..]
            .iter()
            .take_while(|block| {
                matches!(block.stage, DownloadStage::Here(_) | DownloadStage::Stored)
            })
            .count();
        // At equal work the branch can win only if it does not begin with a second block by the forger of ours.
        let is_rival = self.rival_of(&download.blocks[from].header)?.is_some();
        let better = |block: &DownloadBlock| {
            let has_more = block.header.difficulty > self.rows.tip().difficulty;
            has_more || (!is_rival && self.is_better(block.header.difficulty, &block.hash))
        };
        if !download.blocks.last().is_some_and(better) {
            // In the meantime our chain has become better than the whole branch.
            return Ok(false);
        }
        let usable = download.blocks[from..from + there]
            .last()
            .is_some_and(better);
        if !usable {
            self.store_fork_bodies(download, from + there);
            return Ok(true);
        }
        let mut steps = Vec::with_capacity(there);
        for at in from..from + there {
            steps.push(match download.set_stage(at, DownloadStage::Joined) {
                DownloadStage::Here(block) => ReorgBlock::Here(block),
                _ => ReorgBlock::Side(download.blocks[at].hash),
            });
        }
        self.begin_reorg(common, steps, ReorgCause::Better(Some(download.peer)));
        self.step_reorg()?;
        // A block that did not join is bad, and the next step finds it.
        Ok(true)
    }

    /// Deletes the oldest side blocks beyond the limits at the end of a round. During a reorg all stay, and during a download
    /// those that it relies on.
    pub(in crate::core) fn trim_side_blocks(&mut self) {
        if self.reorg.is_some() || !self.side_blocks.is_over_limits() {
            return;
        }
        let needed = match &self.sync.state {
            SyncStage::Bodies(download) => download.stored(),
            SyncStage::Idle | SyncStage::Headers(_) => HashSet::new(),
        };
        self.side_blocks.trim(&mut self.rows, &needed);
    }

    /// Stores the bodies of a fork. Memory is reserved for blocks that join at once.
    fn store_fork_bodies(&mut self, download: &mut BodyDownload, to: usize) {
        for at in download.joined..to {
            if let DownloadStage::Here(block) = &download.blocks[at].stage
                && block.header.body_bytes > 0
            {
                self.side_blocks.put(&mut self.rows, block);
                download.set_stage(at, DownloadStage::Stored);
            }
        }
    }
}
