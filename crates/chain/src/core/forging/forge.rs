//! Forging: the turns of the local keys, and their blocks.

use std::time::Duration;

use primitives::Hash;

use super::forgers::KeyTurn;
use crate::block::{CarriedBlock, CheckedBlock};
use crate::core::limits::{PATIENCE, PEER_GATHERING};
use crate::core::sync::SyncStage;
use crate::core::{Action, Core};
use crate::forge::{choose_body, seal};
use crate::message::{Announcement, GOSSIP_BYTES_MAX, Gossip, IDS_MAX};
use crate::pool::Pool;
use crate::port::{Reads, StoreFailure, Table};
use crate::state::{next_header, turn};
use crate::{AccountId, BlockTimestamp, ChainTime};

/// Delay before the next attempt after an own block was invalid.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// Encodes a block's announcement, with its ids if they fit.
pub(in crate::core) fn announce(block: &CarriedBlock) -> Vec<u8> {
    let mut ids: Vec<_> = block
        .body
        .iter()
        .map(|entry| entry.transaction.id)
        .collect();
    if ids.len() > IDS_MAX || 32 * ids.len() > GOSSIP_BYTES_MAX - 1_024 {
        ids.clear();
    }
    Gossip::Block(Announcement {
        header: block.header.clone(),
        ids,
    })
    .to_bytes()
}

impl<R: Reads<Table>> Core<R> {
    fn may_forge(&self) -> bool {
        self.reorg.is_none() && !self.forging.keys.is_empty()
    }

    /// Returns the time at which the next block is forged on this node.
    pub(in crate::core) fn forging_due(&self) -> Option<ChainTime> {
        if !self.may_forge() {
            return None;
        }
        if self.forging.turns.is_none() {
            return Some(self.now);
        }
        Some(self.forging_time(&self.forging.first()?))
    }

    /// Returns the time at which a turn is used. A turn before this core was opened waits until peers could show a better branch.
    /// If an old copy of the data lacks a block that the key already forged on this parent, the key would otherwise sign a second
    /// one.
    fn forging_time(&self, turn: &KeyTurn) -> ChainTime {
        let turn_time = turn.due.chain_time();
        let turn_time = turn_time.plus_or_last(self.settings.forging_delay);
        let opened = self.forging.opened;
        let met = match &self.sync.state {
            _ if turn_time >= opened => ChainTime::GENESIS,
            SyncStage::Headers(_) => opened.plus_or_last(PEER_GATHERING + PATIENCE),
            SyncStage::Idle | SyncStage::Bodies(_) => opened.plus_or_last(PEER_GATHERING),
        };
        turn_time
            .max(met)
            .max(self.forging.not_before)
            .max(self.forging_paused_until())
    }

    /// Computes the turns after a new tip.
    pub(in crate::core) fn compute_turns(&mut self) -> Result<(), StoreFailure> {
        if self.forging.turns.is_some() {
            return Ok(());
        }
        let mut turns = Vec::with_capacity(self.forging.keys.len());
        for key in self.forging.keys.keys() {
            if let Some(time) = turn(&self.rows, &self.genesis, key)? {
                let (due, key) = (time, *key);
                turns.push(KeyTurn { due, time, key });
            }
        }
        turns.sort_unstable();
        self.forging.turns = Some(turns);
        Ok(())
    }

    /// Returns the turn to use now, if there is one.
    fn due_turn(&mut self) -> Result<Option<KeyTurn>, StoreFailure> {
        if !self.may_forge() {
            return Ok(None);
        }
        self.compute_turns()?;
        let first = self.forging.first();
        Ok(first.filter(|turn| self.forging_time(turn) <= self.now))
    }

    /// Returns the time of the turn of a key that forges here now.
    pub(in crate::core) fn due_turn_time(&mut self) -> Result<Option<ChainTime>, StoreFailure> {
        let turn = self.due_turn()?;
        Ok(turn.map(|turn| turn.time.chain_time()))
    }

    pub(in crate::core) fn forge_if_due(&mut self) -> Result<(), StoreFailure> {
        let Some(turn) = self.due_turn()? else {
            return Ok(());
        };
        self.use_turn(&turn)?;
        // The next turn may be due at once.
        if self.due_turn()?.is_some() {
            self.more = true;
        }
        Ok(())
    }

    /// Forges a block, unless the key has already signed one on this parent. That block joins again instead. If the store no
    /// longer has it, the turn is skipped until the standstill rule applies.
    fn use_turn(&mut self, turn: &KeyTurn) -> Result<(), StoreFailure> {
        // After a standstill the chain continues from the current time: the rule then allows any later time.
        // Without such a second the key stays out of turn.
        let still = turn
            .time
            .plus_or_last(self.genesis.params.standstill_seconds);
        let now = self.timestamp_now();
        let is_still = now >= still;
        let tip = self.rows.tip();
        let height = tip.next_height();
        if let Some(signed) = self.own_blocks.on(height, &tip.hash, &turn.key) {
            if self.reuse_own_block(&signed)? {
                return Ok(());
            }
            if !is_still {
                self.counters.turns_refused += 1;
                self.forging.skip_turn(&turn.key, still);
                return Ok(());
            }
        }
        self.forge(&turn.key, if is_still { now } else { turn.time })
    }

    /// Lets a local block join again after it was rolled back. Returns false if the store no longer has it, or if it may not
    /// join.
    fn reuse_own_block(&mut self, hash: &Hash) -> Result<bool, StoreFailure> {
        if self.invalid.contains(hash) {
            return Ok(false);
        }
        let Some(block) = self.side_blocks.get(&self.rows, &self.genesis, hash)? else {
            return Ok(false);
        };
        let header = &block.header;
        if self.is_distrusted(header.height, hash) || header.time > self.timestamp_now() {
            return Ok(false);
        }
        let announcement = announce(&block);
        if self.apply_and_settle(block, true)?.is_err() {
            return Ok(false);
        }
        self.side_blocks.remove(&mut self.rows, hash);
        self.counters.forged_again += 1;
        self.actions.push(Action::Gossip(announcement));
        Ok(true)
    }

    fn forge(&mut self, key: &[u8; 32], time: BlockTimestamp) -> Result<(), StoreFailure> {
        let height = self.rows.tip().next_height();
        let candidate = choose_body(&self.pool, &self.genesis.params, height, time);
        let empty = candidate.body.is_empty();
        if self.seal_and_join(key, time, candidate)? {
            return Ok(());
        }
        // The transactions of the pool made no valid block. Continue without them.
        self.counters.failed_forgings += 1;
        if !empty {
            let nothing = Pool::new(self.settings.pool.clone());
            let candidate = choose_body(&nothing, &self.genesis.params, height, time);
            if self.seal_and_join(key, time, candidate)? {
                return Ok(());
            }
        }
        self.forging.not_before = self.now.plus_or_last(RETRY_DELAY);
        Ok(())
    }

    fn seal_and_join(
        &mut self,
        key: &[u8; 32],
        time: BlockTimestamp,
        candidate: crate::forge::Candidate,
    ) -> Result<bool, StoreFailure> {
        let Some(pair) = self.forging.keys.get(key) else {
            return Ok(false);
        };
        let header = next_header(&self.rows, &self.genesis, key, time)?;
        let Ok(block) = seal(candidate, header, &self.genesis.hash, pair) else {
            return Ok(false);
        };
        // The transactions are from the pool, and the header is signed here.
        let block = CheckedBlock::from_checked_parts(block);
        if self.is_distrusted(block.header.height, &block.hash) {
            return Ok(false);
        }
        let announcement = announce(&block);
        let (header, hash) = (block.header.clone(), block.hash);
        if self.apply_and_settle(block, true)?.is_err() {
            return Ok(false);
        }
        // A young chain can be rolled back to genesis.
        let lowest = header
            .height
            .minus_or_genesis(self.genesis.params.rollback_blocks_max);
        self.own_blocks.add(&mut self.rows, &header, hash, lowest);
        self.counters.forged += 1;
        self.actions.push(Action::Gossip(announcement));
        Ok(true)
    }

    /// Returns the keys that forge on this node, with their accounts and the times of their turns.
    pub(in crate::core) fn forgers(&self) -> Vec<(AccountId, [u8; 32], Option<BlockTimestamp>)> {
        self.forging
            .keys()
            .map(|key| (AccountId::of_key(key), *key, self.forging.turn_of(key)))
            .collect()
    }
}
