//! Bundling: child blocks are made shortly before the next expected block, on whichever node its forger is.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use primitives::PublicKey;

use super::bundlers::{BundlerKey, ForgerForecast};
use crate::bundle::{Bundler, Expected, Means, Proposal, Scene, plan, propose, rank};
use crate::core::{Action, Core};
use crate::message::{GOSSIP_BYTES_MAX, Gossip, IDS_MAX};
use crate::pool::ChildBlock;
use crate::port::{Reads, StoreFailure, Table, damaged};
use crate::state::{effective_tokens, recent_forgers};
use crate::{AccountId, Anchor, ChainId, ChainTime, pos};

/// Number of latest blocks whose forgers are considered.
const FORGERS_OF_BLOCKS: usize = 512;
/// Maximum number of forgers considered.
const FORGERS_KNOWN_MAX: usize = 64;
/// If the expected block does not come, bundlers look again after a quarter of the block time, within these bounds.
const AGAIN: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(5));

impl<R: Reads<Table>> Core<R> {
    /// Returns whether this node may bundle. During a reorg neither the tip nor the waiting transactions are known.
    fn may_bundle(&self) -> bool {
        self.reorg.is_none() && !self.bundling.bundlers.is_empty()
    }

    pub(in crate::core) fn bundling_due(&self) -> Option<ChainTime> {
        if !self.may_bundle() {
            return None;
        }
        match &self.bundling.outlook {
            None => Some(self.now),
            Some(outlook) => {
                let first = outlook.due.values().min().copied();
                first.map(|due| due.max(self.forging_paused_until()))
            }
        }
    }

    pub(in crate::core) fn bundle_if_due(&mut self) -> Result<(), StoreFailure> {
        if !self.may_bundle() {
            return Ok(());
        }
        let mut outlook = match self.bundling.outlook.take() {
            Some(outlook) => outlook,
            None => self.forecast()?,
        };
        let now = self.now;
        let due: Vec<BundlerKey> = outlook
            .due
            .iter()
            .filter(|(_, due)| **due <= now)
            .map(|(place, _)| *place)
            .collect();
        for place in due {
            let Some(bundler) = self.bundling.bundlers.get(&place).cloned() else {
                outlook.due.remove(&place);
                continue;
            };
            self.bundle(&bundler)?;
            let next = self.next_check(&outlook, place, Some(now));
            outlook.due.insert(place, next);
        }
        self.bundling.outlook = Some(outlook);
        Ok(())
    }

    /// Returns the next time at which a bundler looks at the pool. If the expected blocks do not come, it looks again after a
    /// part of the block time.
    fn next_check(
        &self,
        outlook: &ForgerForecast,
        (key, child): BundlerKey,
        last: Option<ChainTime>,
    ) -> ChainTime {
        let height = self.rows.tip().next_height();
        let rank = rank(&key, self.rates.book.bundlers(child), child, height);
        let params = &self.genesis.params;
        let planned = plan(
            &self.settings.bundling,
            params,
            &outlook.forgers,
            rank,
            outlook.tip_received,
            last,
        );
        let quarter = params.block_seconds.duration() / 4;
        // The expected blocks are overdue.
        planned.unwrap_or(self.now.plus_or_last(quarter.clamp(AGAIN.0, AGAIN.1)))
    }

    /// Predicts the next forgers from the recent forgers and the keys that forge here.
    fn forecast(&self) -> Result<ForgerForecast, StoreFailure> {
        let mut keys = recent_forgers(&self.rows, FORGERS_OF_BLOCKS, FORGERS_KNOWN_MAX);
        for own in self.forging.keys() {
            if !keys.contains(own) {
                keys.push(*own);
            }
        }
        let mut candidates = Vec::with_capacity(keys.len());
        for key in keys {
            let account = AccountId::of_key(&key);
            let tokens = effective_tokens(&self.rows, &self.genesis, &account)?;
            candidates.push((key, tokens));
        }
        let tip = self.rows.tip();
        let turns = pos::next_forgers(tip.time, &tip.generation, tip.base_target, &candidates);
        let mut outlook = ForgerForecast {
            forgers: turns
                .iter()
                .map(|turn| Expected {
                    at: turn.time.chain_time(),
                    local: self.forging.keys().any(|key| *key == turn.forger),
                })
                .collect(),
            tip_received: self.now,
            due: BTreeMap::new(),
        };
        for place in self.bundling.bundlers.keys() {
            let look = self.next_check(&outlook, *place, None);
            outlook.due.insert(*place, look);
        }
        Ok(outlook)
    }

    fn bundle(&mut self, bundler: &Bundler) -> Result<(), StoreFailure> {
        let PublicKey::Ed25519(key) = *bundler.key.public() else {
            return Ok(());
        };
        let account = AccountId::of_key(&key);
        let tip = self.rows.tip().height;
        // In a young chain the anchor is genesis.
        let deep = tip.minus_or_genesis(self.genesis.params.anchor_depth_min);
        let anchor = self.hash_at(deep)?;
        let anchor = anchor.ok_or_else(|| damaged(format!("there is no block at {deep}")))?;
        let scene = Scene {
            genesis: &self.genesis.hash,
            params: &self.genesis.params,
            parent_decimals: self
                .genesis
                .chain(ChainId::PARENT)
                .map_or(0, |parent| parent.decimals),
            height: self.rows.tip().next_height(),
            now: self.now,
            anchor: Anchor::at(deep, &anchor),
        };
        let means = Means {
            balance: self.rows.balance(&account, ChainId::PARENT)?,
            spent: self.spent(&account, bundler.rules.child)?,
        };
        let proposal = propose(&self.pool, bundler, means, &self.settings.bundling, &scene);
        if let Ok(Proposal::Make(block)) = proposal {
            self.publish_child_block(block)?;
        }
        Ok(())
    }

    /// Puts a child block of this node into the pool and gossips it.
    fn publish_child_block(&mut self, block: Arc<ChildBlock>) -> Result<(), StoreFailure> {
        let rows = &self.rows;
        let mut balances = |account: AccountId, chain| rows.balance(&account, chain);
        let now = self.timestamp_now();
        let taken = self
            .pool
            .insert_child_block(block.clone(), now, &mut balances)?;
        if taken.is_err() {
            return Ok(());
        }
        self.counters.bundled += 1;
        // The carried transactions are sent first, so that the child block is complete on arrival.
        self.actions.extend(self.gossip_batch.take());
        let bytes = Gossip::ChildBlock {
            transaction: block.transaction().transaction.clone(),
            ids: block.ids().to_vec(),
        }
        .to_bytes();
        if block.ids().len() <= IDS_MAX && bytes.len() <= GOSSIP_BYTES_MAX {
            self.actions.push(Action::Gossip(bytes));
        }
        Ok(())
    }
}
