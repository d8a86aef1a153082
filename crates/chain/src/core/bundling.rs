//! Bundling: child blocks are made shortly before the next block is expected, wherever its forger is.

use std::collections::BTreeMap;
use std::sync::Arc;

use primitives::PublicKey;

use super::limits::BUNDLERS_MAX;
use super::{Action, Core};
use crate::block::CarriedBlock;
use crate::bundle::{Bundler, Means, Proposal, Scene, propose};
use crate::message::{GOSSIP_BYTES_MAX, Gossip, IDS_MAX};
use crate::pool::ChildBlock;
use crate::port::{Reads, StoreFailure, Table, damaged};
use crate::state::{effective_tokens, recent_forgers};
use crate::transaction::Body;
use crate::{AccountId, Anchor, ChainId, pos};

/// So many of the last blocks tell who forges.
const FORGERS_OF_BLOCKS: usize = 512;
/// And so many forgers are reckoned with.
const FORGERS_KNOWN_MAX: usize = 64;
/// When the expected block does not come, bundlers look again after a part of the block time, within these, milliseconds.
const AGAIN_MS: (u64, u64) = (250, 5_000);
/// Key in `Meta`, before account and chain: what a bundler here has paid, in minor units of the parent token.
const SPENT: &[u8] = b"spent";

/// The bundlers of this node.
#[derive(Debug, Default)]
pub(super) struct Bundling {
    bundlers: BTreeMap<([u8; 32], ChainId), Bundler>,
    due_ms: Option<u64>,
    reckoned: bool,
}

impl Bundling {
    pub(super) fn new(bundlers: &[Bundler]) -> Self {
        let mut bundling = Self::default();
        for bundler in bundlers {
            bundling.start(bundler.clone());
        }
        bundling
    }

    /// Lets an account bundle; replaces its rules for the chain. Keys that are no account's, and those beyond the limit, do not.
    pub(super) fn start(&mut self, bundler: Bundler) -> bool {
        let PublicKey::Ed25519(key) = *bundler.key.public() else {
            return false;
        };
        let place = (key, bundler.rules.child);
        if self.bundlers.len() >= BUNDLERS_MAX && !self.bundlers.contains_key(&place) {
            return false;
        }
        self.bundlers.insert(place, bundler);
        self.reckoned = false;
        true
    }

    pub(super) fn stop(&mut self, key: &[u8; 32], child: ChainId) -> bool {
        self.bundlers.remove(&(*key, child)).is_some()
    }

    pub(super) fn tip_moved(&mut self) {
        self.reckoned = false;
    }

    /// With the bundlers' keys.
    pub(super) fn keyed(&self) -> impl Iterator<Item = (&[u8; 32], &Bundler)> {
        self.bundlers
            .iter()
            .map(|((key, _), bundler)| (key, bundler))
    }
}

impl<R: Reads<Table>> Core<R> {
    pub(super) fn bundling_due_ms(&self) -> Option<u64> {
        if self.bundling.bundlers.is_empty() || self.stuck.is_some() || self.switch.is_some() {
            return None;
        }
        if !self.bundling.reckoned {
            return Some(self.now_ms);
        }
        self.bundling.due_ms
    }

    pub(super) fn bundle_if_due(&mut self) -> Result<(), StoreFailure> {
        let idle = self.bundling.bundlers.is_empty();
        if idle || self.stuck.is_some() || self.switch.is_some() || self.is_catching_up() {
            self.bundling.due_ms = None;
            self.bundling.reckoned = idle;
            return Ok(());
        }
        if !self.bundling.reckoned {
            self.bundling.due_ms = Some(self.expect_next()?);
            self.bundling.reckoned = true;
        }
        if self.bundling.due_ms.is_none_or(|due| due > self.now_ms) {
            return Ok(());
        }
        let bundlers: Vec<Bundler> = self.bundling.bundlers.values().cloned().collect();
        for bundler in &bundlers {
            self.bundle(bundler)?;
        }
        let quarter = u64::from(self.genesis.params.block_seconds) * 250;
        self.bundling.due_ms = Some(self.now_ms + quarter.clamp(AGAIN_MS.0, AGAIN_MS.1));
        Ok(())
    }

    /// When to bundle for the next block: its forger is reckoned from who forged lately, and who forges here.
    fn expect_next(&self) -> Result<u64, StoreFailure> {
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
        let Some(first) = turns.first() else {
            return Ok(self.now_ms);
        };
        let settings = &self.settings.bundling;
        let here = self.forging.keys().any(|key| *key == first.forger);
        let lead = if here {
            settings.local_lead_ms(&self.genesis.params)
        } else {
            settings.lead_ms(&self.genesis.params)
        };
        Ok((u64::from(first.time) * 1_000).saturating_sub(lead))
    }

    fn bundle(&mut self, bundler: &Bundler) -> Result<(), StoreFailure> {
        let PublicKey::Ed25519(key) = *bundler.key.public() else {
            return Ok(());
        };
        let account = AccountId::of_key(&key);
        let tip = self.rows.tip().height;
        let deep = tip.saturating_sub(self.genesis.params.anchor_depth_min);
        let anchor = self.hash_at(deep)?;
        let anchor = anchor.ok_or_else(|| damaged(format!("there is no block at {deep}")))?;
        let scene = Scene {
            genesis: &self.genesis.hash,
            params: &self.genesis.params,
            parent_decimals: self
                .genesis
                .chain(ChainId::PARENT)
                .map_or(0, |parent| parent.decimals),
            height: tip.saturating_add(1),
            now_ms: self.now_ms,
            anchor: Anchor::at(deep, &anchor),
        };
        let means = Means {
            balance: self.rows.balance(&account, ChainId::PARENT)?,
            spent: self.spent(&account, bundler.rules.child)?,
        };
        let proposal = propose(&self.pool, bundler, means, &self.settings.bundling, &scene);
        if let Ok(Proposal::Make(block)) = proposal {
            self.offer(block)?;
        }
        Ok(())
    }

    /// Puts a child block of our own into the pool, and tells everybody.
    fn offer(&mut self, block: Arc<ChildBlock>) -> Result<(), StoreFailure> {
        let rows = &self.rows;
        let mut balances = |account: AccountId, chain| rows.balance(&account, chain);
        let now = u32::try_from(self.now_ms / 1_000).unwrap_or(u32::MAX);
        let taken = self
            .pool
            .insert_child_block(block.clone(), now, &mut balances)?;
        if taken.is_err() {
            return Ok(());
        }
        self.counters.bundled += 1;
        // What it carries goes first, so that it is whole where it arrives.
        self.actions.extend(self.relay.take());
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

    /// What a bundler's child blocks of a chain have paid, in minor units of the parent token.
    pub(super) fn spent(&self, account: &AccountId, child: ChainId) -> Result<u64, StoreFailure> {
        let row = self.rows.get(Table::Meta, &spent_key(account, child))?;
        row.map_or(Ok(0), |value| crate::state::rows::read_u64(&value))
    }

    /// Counts what bundlers here pay in a block that joins, or that is taken back.
    pub(super) fn count_spent(
        &mut self,
        block: &CarriedBlock,
        joins: bool,
    ) -> Result<(), StoreFailure> {
        if self.bundling.bundlers.is_empty() {
            return Ok(());
        }
        for entry in &block.body {
            let transaction = &entry.transaction.transaction;
            let Body::ChildBlock { child, .. } = transaction.body else {
                continue;
            };
            if !self
                .bundling
                .bundlers
                .contains_key(&(transaction.sender, child))
            {
                continue;
            }
            let account = entry.transaction.sender;
            let before = self.spent(&account, child)?;
            let after = if joins {
                before.saturating_add(transaction.fee)
            } else {
                before.saturating_sub(transaction.fee)
            };
            let key = spent_key(&account, child);
            self.rows.put(Table::Meta, key, after.to_be_bytes());
        }
        Ok(())
    }
}

fn spent_key(account: &AccountId, child: ChainId) -> Vec<u8> {
    [SPENT, &account.0, &[child.0]].concat()
}
