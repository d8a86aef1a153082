//! Applies the bodies of a better branch.
//!
//! If the branch follows our tip, its blocks join as they arrive. If it forks off, bodies are stored in the table `Side` until
//! they make it better than our own blocks. No block is rolled back before that.

use super::body_download::{Download, Stage, Wanted};
use super::stage::State;
use crate::core::Core;
use crate::core::blocks::NotJoined;
use crate::core::fork_choice::{Cause, Step};
use crate::core::limits::{HOLD_PARTS, ROUND_BYTES};
use crate::port::{Reads, StoreFailure, Table};

impl<R: Reads<Table>> Core<R> {
    /// Returns the time until which forging on our own tip waits for a better branch that is being downloaded. Headers alone
    /// delay forging once for each tip of ours, and each new body delays it again. A branch whose bodies are withheld costs a
    /// quarter of the block time.
    pub(in crate::core) fn held_back_until_ms(&self) -> u64 {
        match &self.following.state {
            State::Bodies(download) => download.hold_until_ms,
            State::Idle | State::Headers(_) => 0,
        }
    }

    /// Returns a quarter of the block time.
    pub(in crate::core) fn hold_ms(&self) -> u64 {
        u64::from(self.genesis.params.block_seconds) * 1_000 / HOLD_PARTS
    }

    /// Lets blocks join, and requests more bodies.
    pub(in crate::core) fn step_download(&mut self) -> Result<(), StoreFailure> {
        let state = std::mem::replace(&mut self.following.state, State::Idle);
        let State::Bodies(mut download) = state else {
            self.following.state = state;
            return Ok(());
        };
        if !self.join_downloaded(&mut download)? {
            return Ok(());
        }
        if self.switch.is_none() && download.joined == download.blocks.len() {
            for peer in &download.givers {
                self.delivered(*peer);
            }
            self.tell_where_we_stand();
            return Ok(());
        }
        if self.ask_for_bodies(&mut download) || self.switch.is_some() || self.more {
            self.following.state = State::Bodies(download);
        } else {
            // No peer delivers it now. It may be tried again later.
            for peer in &download.givers {
                self.failed(*peer);
            }
        }
        Ok(())
    }

    /// Lets blocks join that follow the tip, or begins a reorg. Returns false if the branch is no longer useful.
    fn join_downloaded(&mut self, download: &mut Download) -> Result<bool, StoreFailure> {
        let mut bytes = 0;
        while self.switch.is_none() && download.joined < download.blocks.len() {
            let wanted = &mut download.blocks[download.joined];
            if self.bad.contains(&wanted.hash) {
                return Ok(false);
            }
            if matches!(wanted.stage, Stage::Joined) || self.is_block(&wanted.hash)? {
                if let Stage::Here(block) = std::mem::replace(&mut wanted.stage, Stage::Joined) {
                    download.bytes = download
                        .bytes
                        .saturating_sub(block.header.body_bytes as usize);
                }
                download.joined += 1;
                continue;
            }
            if wanted.header.previous != self.rows.tip().hash {
                return self.switch_if_better(download);
            }
            if bytes >= ROUND_BYTES {
                self.more = true;
                return Ok(true);
            }
            let block = match std::mem::replace(&mut wanted.stage, Stage::Joined) {
                Stage::Here(block) => {
                    download.bytes = download
                        .bytes
                        .saturating_sub(block.header.body_bytes as usize);
                    *block
                }
                Stage::Stored => {
                    let stored = self.side.get(&self.rows, &self.genesis, &wanted.hash)?;
                    let Some(block) = stored else {
                        wanted.stage = Stage::Missing;
                        return Ok(true);
                    };
                    self.side.remove(&mut self.rows, &wanted.hash);
                    block
                }
                stage => {
                    wanted.stage = stage;
                    return Ok(true);
                }
            };
            bytes += block.header.body_bytes as usize + 4_096;
            let hash = block.hash;
            if let Err(reason) = self.join(block, false)? {
                if matches!(reason, NotJoined::Invalid(_)) {
                    let rest = &download.blocks[download.joined..];
                    for after in rest.iter().skip_while(|block| block.hash != hash) {
                        self.bad.insert(after.hash);
                    }
                }
                self.blame(Some(download.peer), reason);
                return Ok(false);
            }
            download.joined += 1;
        }
        Ok(true)
    }

    /// Begins a reorg if the branch forks off and its available bodies make it better than ours.
    fn switch_if_better(&mut self, download: &mut Download) -> Result<bool, StoreFailure> {
        let from = download.joined;
        let Some(common) = self.height_of(&download.blocks[from].header.previous)? else {
            // Our own chain has changed below the branch. Begin again.
            return Ok(false);
        };
        let tip = self.rows.tip();
        let depth = tip.height.saturating_sub(common);
        if depth > self.genesis.params.rollback_blocks_max || !self.may_be_taken_back(common)? {
            return Ok(false);
        }
        let there = download.blocks[from..]
            .iter()
            .take_while(|block| matches!(block.stage, Stage::Here(_) | Stage::Stored))
            .count();
        // At equal work the branch can win only if it does not begin with a second block by the forger of ours.
        let is_rival = self.rival_of(&download.blocks[from].header)?.is_some();
        let better = |block: &Wanted| {
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
            self.store_fork(download, from + there);
            return Ok(true);
        }
        let mut steps = Vec::with_capacity(there);
        for wanted in &mut download.blocks[from..from + there] {
            match std::mem::replace(&mut wanted.stage, Stage::Joined) {
                Stage::Here(block) => {
                    download.bytes = download
                        .bytes
                        .saturating_sub(block.header.body_bytes as usize);
                    steps.push(Step::Here(block));
                }
                _ => steps.push(Step::Side(wanted.hash)),
            }
        }
        self.begin_switch(common, steps, Cause::Better(Some(download.peer)));
        self.step_switch()?;
        // A block that did not join is bad, and the next step finds it.
        Ok(true)
    }

    /// Stores the bodies of a fork. Memory is reserved for blocks that join at once.
    fn store_fork(&mut self, download: &mut Download, to: usize) {
        for wanted in &mut download.blocks[download.joined..to] {
            if let Stage::Here(block) = &wanted.stage
                && block.header.body_bytes > 0
            {
                download.bytes = download
                    .bytes
                    .saturating_sub(block.header.body_bytes as usize);
                self.side.put(&mut self.rows, block);
                wanted.stage = Stage::Stored;
            }
        }
    }
}
