//! Forging: which of the keys here comes when, and its block.

use std::collections::BTreeMap;

use primitives::{KeyPair, PublicKey};

use super::limits::FORGERS_MAX;
use super::{Action, Core};
use crate::AccountId;
use crate::block::CarriedBlock;
use crate::forge::{assemble, seal};
use crate::message::{Announcement, GOSSIP_BYTES_MAX, Gossip, IDS_MAX};
use crate::pool::Pool;
use crate::port::{Reads, StoreFailure, Table};
use crate::state::{next_header, turn};

/// After a block of our own that was not valid the next one is tried after so long, milliseconds.
const RETRY_MS: u64 = 1_000;

/// The keys that forge here, and when each may after the tip.
#[derive(Debug, Default)]
pub(super) struct Forging {
    keys: BTreeMap<[u8; 32], KeyPair>,
    /// Second and key, earliest first; nothing before it is reckoned for this tip.
    turns: Option<Vec<(u32, [u8; 32])>>,
    not_before_ms: u64,
}

impl Forging {
    pub(super) fn new(keys: &[KeyPair]) -> Self {
        let mut forging = Self::default();
        for key in keys {
            forging.start(key.clone());
        }
        forging
    }

    /// Lets a key forge; keys that are no account's, and those beyond the limit, do not.
    pub(super) fn start(&mut self, pair: KeyPair) -> bool {
        let PublicKey::Ed25519(key) = *pair.public() else {
            return false;
        };
        if self.keys.len() >= FORGERS_MAX && !self.keys.contains_key(&key) {
            return false;
        }
        self.keys.insert(key, pair);
        self.turns = None;
        true
    }

    pub(super) fn stop(&mut self, key: &[u8; 32]) -> bool {
        self.turns = None;
        self.keys.remove(key).is_some()
    }

    pub(super) fn tip_moved(&mut self) {
        self.turns = None;
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &[u8; 32]> {
        self.keys.keys()
    }

    /// When a key may forge after the tip, if that has been reckoned and it has stake.
    pub(super) fn turn_of(&self, key: &[u8; 32]) -> Option<u32> {
        let turns = self.turns.as_ref()?;
        turns
            .iter()
            .find(|(_, of)| of == key)
            .map(|(time, _)| *time)
    }
}

impl<R: Reads<Table>> Core<R> {
    fn may_forge(&self) -> bool {
        self.switch.is_none() && !self.is_catching_up()
    }

    /// When the next block is forged here.
    pub(super) fn forging_due_ms(&self) -> Option<u64> {
        if !self.may_forge() || self.forging.keys.is_empty() {
            return None;
        }
        let Some(turns) = &self.forging.turns else {
            return Some(self.now_ms);
        };
        let (time, _) = turns.first()?;
        Some(self.forging_ms(*time).max(self.forging.not_before_ms))
    }

    fn forging_ms(&self, time: u32) -> u64 {
        u64::from(time) * 1_000 + self.settings.forging_delay_ms
    }

    /// Reckons whose turn is when, after a new tip.
    pub(super) fn reckon_turns(&mut self) -> Result<(), StoreFailure> {
        if self.forging.turns.is_some() {
            return Ok(());
        }
        let mut turns = Vec::with_capacity(self.forging.keys.len());
        for key in self.forging.keys.keys() {
            if let Some(time) = turn(&self.rows, &self.genesis, key)? {
                turns.push((time, *key));
            }
        }
        turns.sort_unstable();
        self.forging.turns = Some(turns);
        Ok(())
    }

    /// The second of the turn, in milliseconds, of a key that forges here now.
    pub(super) fn own_turn_ms(&mut self) -> Result<Option<u64>, StoreFailure> {
        if !self.may_forge() || self.forging.keys.is_empty() {
            return Ok(None);
        }
        self.reckon_turns()?;
        let is_due = self.forging_due_ms().is_some_and(|due| due <= self.now_ms);
        let first = self.forging.turns.as_ref().and_then(|turns| turns.first());
        Ok(first
            .filter(|_| is_due)
            .map(|(time, _)| u64::from(*time) * 1_000))
    }

    pub(super) fn forge_if_due(&mut self) -> Result<(), StoreFailure> {
        if !self.may_forge() || self.forging.keys.is_empty() {
            return Ok(());
        }
        self.reckon_turns()?;
        let first = self.forging.turns.as_ref().and_then(|turns| turns.first());
        let Some((time, key)) = first.copied() else {
            return Ok(());
        };
        if self.forging_ms(time).max(self.forging.not_before_ms) > self.now_ms {
            return Ok(());
        }
        // A network that stood still goes on from now: the rule allows any later time then.
        let stood = time
            .saturating_add(self.genesis.params.standstill_seconds)
            .saturating_sub(1);
        let now = self.now_seconds();
        let time = if now > stood { now } else { time };
        self.forge(&key, time)?;
        // The next one may be due at once.
        self.reckon_turns()?;
        if self.forging_due_ms().is_some_and(|due| due <= self.now_ms) {
            self.more = true;
        }
        Ok(())
    }

    fn forge(&mut self, key: &[u8; 32], time: u32) -> Result<(), StoreFailure> {
        let height = self.rows.tip().height.saturating_add(1);
        let candidate = assemble(&self.pool, &self.genesis.params, height, time);
        let empty = candidate.body.is_empty();
        if self.seal_and_join(key, time, candidate)? {
            return Ok(());
        }
        // What waits in the pool made no valid block: the network goes on without it.
        self.counters.failed_forgings += 1;
        if !empty {
            let nothing = Pool::new(self.settings.pool.clone());
            let candidate = assemble(&nothing, &self.genesis.params, height, time);
            if self.seal_and_join(key, time, candidate)? {
                return Ok(());
            }
        }
        self.forging.not_before_ms = self.now_ms + RETRY_MS;
        Ok(())
    }

    fn seal_and_join(
        &mut self,
        key: &[u8; 32],
        time: u32,
        candidate: crate::forge::Candidate,
    ) -> Result<bool, StoreFailure> {
        let Some(pair) = self.forging.keys.get(key) else {
            return Ok(false);
        };
        let header = next_header(&self.rows, &self.genesis, key, time)?;
        let Ok(block) = seal(candidate, header, &self.genesis.hash, pair) else {
            return Ok(false);
        };
        if self.is_distrusted(block.header.height, &block.hash) {
            return Ok(false);
        }
        let announcement = announce(&block);
        if !self.join(block, true)? {
            return Ok(false);
        }
        self.counters.forged += 1;
        self.actions.push(Action::Gossip(announcement));
        Ok(true)
    }

    /// The keys that forge here, with account and the second of their turn.
    pub(super) fn forgers(&self) -> Vec<(AccountId, [u8; 32], Option<u32>)> {
        self.forging
            .keys()
            .map(|key| (AccountId::of_key(key), *key, self.forging.turn_of(key)))
            .collect()
    }
}

/// A block's announcement, with as many ids as fit.
pub(super) fn announce(block: &CarriedBlock) -> Vec<u8> {
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
