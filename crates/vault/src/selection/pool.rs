//! The free coins of one token at one notary, and the choice among them.

use std::collections::BTreeMap;

use ledger::{Party, PartyId};

use crate::{CoinPosition, CoinRow};

/// Coins that one transaction can spend together.
pub(super) struct Pool {
    notary: Party,
    pub(super) notary_id: PartyId,
    free: BTreeMap<CoinPosition, Box<CoinRow>>,
    free_sum: u128,
    /// Coins locked by flows or about to be consumed, as far as they are known.
    pub(super) held_count: usize,
    held_sum: u128,
}

/// A possible choice, better if smaller: one coin before several, then the smaller coin, then fewer coins.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Choice {
    /// One coin suffices.
    One(CoinPosition),
    /// So many coins, these.
    Several(usize, Vec<CoinPosition>),
}

impl Pool {
    pub(super) fn new(notary: Party) -> Self {
        Self {
            notary_id: notary.id(),
            notary,
            free: BTreeMap::new(),
            free_sum: 0,
            held_count: 0,
            held_sum: 0,
        }
    }

    pub(super) fn is_of(&self, notary: &Party) -> bool {
        self.notary == *notary
    }

    /// Everything known to be unconsumed, free or not.
    pub(super) fn known_sum(&self) -> u128 {
        self.free_sum.saturating_add(self.held_sum)
    }

    pub(super) fn smallest(&self) -> Option<CoinPosition> {
        self.free.first_key_value().map(|(position, _)| *position)
    }

    pub(super) fn insert(&mut self, row: Box<CoinRow>) {
        let quantity = row.quantity;
        if self.free.insert(row.position(), row).is_none() {
            self.free_sum += u128::from(quantity);
        }
    }

    pub(super) fn remove(&mut self, position: &CoinPosition) -> Option<Box<CoinRow>> {
        let row = self.free.remove(position)?;
        self.free_sum -= u128::from(row.quantity);
        Some(row)
    }

    pub(super) fn hold(&mut self, quantity: u64) {
        self.held_count += 1;
        self.held_sum += u128::from(quantity);
    }

    pub(super) fn unhold(&mut self, quantity: u64) {
        self.held_count = self.held_count.saturating_sub(1);
        self.held_sum = self.held_sum.saturating_sub(u128::from(quantity));
    }

    /// Chooses coins worth `quantity`: the smallest single one that suffices, else the largest ones, of which the last is as
    /// small as it may be. `None` if free coins do not suffice, or only more than `states_max` of them.
    pub(super) fn choose(&self, quantity: u64, states_max: usize) -> Option<Choice> {
        let sufficient = |rest: u64| {
            let from = CoinPosition {
                quantity: rest,
                seq: 0,
                index: 0,
            };
            self.free
                .range(from..)
                .next()
                .map(|(position, _)| *position)
        };
        if let Some(position) = sufficient(quantity) {
            return Some(Choice::One(position));
        }
        if self.free_sum < u128::from(quantity) {
            return None;
        }
        let mut chosen = Vec::new();
        let mut rest = quantity;
        for (largest, _) in self.free.iter().rev() {
            if chosen.len() + 1 > states_max {
                return None;
            }
            // No coin greater than this one is left, so what suffices for the rest, if anything, is this one or below.
            if largest.quantity >= rest {
                chosen.push(sufficient(rest).unwrap_or(*largest));
                return Some(Choice::Several(chosen.len(), chosen));
            }
            chosen.push(*largest);
            rest -= largest.quantity;
        }
        None
    }

    /// Takes every free coin out.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = Box<CoinRow>> + use<> {
        self.free_sum = 0;
        std::mem::take(&mut self.free).into_values()
    }
}
