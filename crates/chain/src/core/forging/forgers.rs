//! The keys that forge on this node, and their turns.

use std::collections::BTreeMap;

use primitives::{KeyPair, PublicKey};

use crate::core::limits::FORGERS_MAX;
use crate::core::part::Part;
use crate::state::Point;
use crate::{BlockTimestamp, ChainTime};

/// The turn of a key after the tip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::core) struct KeyTurn {
    /// The time at which the key is tried. It is later than `time` if the key signed a block on this parent that the store no
    /// longer has.
    pub(super) due: BlockTimestamp,
    /// The time of its block.
    pub(super) time: BlockTimestamp,
    pub(super) key: [u8; 32],
}

/// The keys that forge on this node, and their turns after the tip.
#[derive(Debug)]
pub(in crate::core) struct Forging {
    pub(super) keys: BTreeMap<[u8; 32], KeyPair>,
    /// Earliest first. `None` until they are computed for this tip.
    pub(super) turns: Option<Vec<KeyTurn>>,
    /// The time before which no key forges, because a block of this node was invalid.
    pub(super) not_before: ChainTime,
    /// The time at which the core was opened.
    pub(super) opened: ChainTime,
}

impl Forging {
    pub(in crate::core) fn new(keys: &[KeyPair], opened: ChainTime) -> Self {
        let mut forging = Self {
            keys: BTreeMap::new(),
            turns: None,
            not_before: ChainTime::GENESIS,
            opened,
        };
        for key in keys {
            forging.start(key.clone());
        }
        forging
    }

    /// Lets a key forge. Returns false for keys that are not account keys, and beyond the limit.
    pub(in crate::core) fn start(&mut self, pair: KeyPair) -> bool {
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

    pub(in crate::core) fn stop(&mut self, key: &[u8; 32]) -> bool {
        self.turns = None;
        self.keys.remove(key).is_some()
    }

    pub(in crate::core) fn keys(&self) -> impl Iterator<Item = &[u8; 32]> {
        self.keys.keys()
    }

    /// Returns the time of a key's turn after the tip. `None` before the turns are computed, or without stake.
    pub(in crate::core) fn turn_of(&self, key: &[u8; 32]) -> Option<BlockTimestamp> {
        let turns = self.turns.as_ref()?;
        turns
            .iter()
            .find(|turn| turn.key == *key)
            .map(|turn| turn.time)
    }

    pub(super) fn first(&self) -> Option<KeyTurn> {
        self.turns.as_ref()?.first().copied()
    }

    /// Skips a turn. The key is tried again after a standstill of the network.
    pub(super) fn skip_turn(&mut self, key: &[u8; 32], due: BlockTimestamp) {
        if let Some(turns) = &mut self.turns {
            for turn in turns.iter_mut().filter(|turn| turn.key == *key) {
                turn.due = due;
            }
            turns.sort_unstable();
        }
    }
}

impl Part for Forging {
    fn tip_moved(&mut self, _: &Point) {
        self.turns = None;
    }
}
