//! The coins of one token at one notary: those in memory, and the known bounds on those in the view.
//!
//! # Invariants
//! - The *frontier*: every unconsumed coin of the pool that is not in memory has a position at the frontier or below it. A coin
//!   that is evicted, or not taken into memory, raises the frontier to its own position. An answer of the view lowers it.
//! - When memory is full, the smallest coins are evicted first, so memory tends to hold the greatest ones.

use std::collections::BTreeMap;

use ledger::{Party, PartyId};

use crate::{CoinPosition, CoinRow};

/// An upper bound on the positions of the coins that are in the view but not in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Frontier {
    /// Nowhere: every coin is in memory.
    End,
    /// Here or below.
    At(CoinPosition),
    /// Anywhere.
    Top,
}

impl Frontier {
    /// Lowers the frontier to `last` after an answer of the view that listed all coins from `asked` down to `last`. Has no
    /// effect if coins above `asked` may be missing in memory.
    pub(super) fn lower(&mut self, asked: Frontier, last: Frontier) {
        if *self <= asked {
            *self = (*self).min(last);
        }
    }
}

/// Coins that one transaction can spend together.
pub(super) struct Pool {
    notary: Party,
    pub(super) notary_id: PartyId,
    free: BTreeMap<CoinPosition, Box<CoinRow>>,
    free_sum: u128,
    /// Coins locked by flows or about to be consumed, as far as they are known.
    pub(super) held_count: usize,
    held_sum: u128,
    pub(super) frontier: Frontier,
    /// The position of the greatest coin that was left out of memory since the latest refill was requested. The answer to that
    /// refill may not list this coin.
    raised: Option<CoinPosition>,
}

/// A possible choice, better if smaller: one coin before several, then the smaller coin, then fewer coins.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Choice {
    /// One coin suffices.
    One(CoinPosition),
    /// The number of coins, and their positions.
    Several(usize, Vec<CoinPosition>),
}

impl Pool {
    pub(super) fn new(notary: Party, frontier: Frontier) -> Self {
        Self {
            notary_id: notary.id(),
            notary,
            free: BTreeMap::new(),
            free_sum: 0,
            held_count: 0,
            held_sum: 0,
            frontier,
            raised: None,
        }
    }

    pub(super) fn is_of(&self, notary: &Party) -> bool {
        self.notary == *notary
    }

    /// Returns the sum of all coins known to be unconsumed, free or not.
    pub(super) fn known_sum(&self) -> u128 {
        self.free_sum + self.held_sum
    }

    pub(super) fn free_count(&self) -> usize {
        self.free.len()
    }

    /// Records that a coin at this position is left out of memory.
    pub(super) fn raise(&mut self, to: CoinPosition) {
        self.raised = self.raised.max(Some(to));
        self.frontier = self.frontier.max(Frontier::At(to));
    }

    /// Records that a refill is requested.
    pub(super) fn asked(&mut self) {
        self.raised = None;
    }

    /// Records an answer of the view, which lists all coins from `asked` down to `last`. It may lack coins that were left out
    /// of memory since the request, so the greatest of these raises the frontier again.
    pub(super) fn answered(&mut self, asked: Frontier, last: Frontier) {
        self.frontier.lower(asked, last);
        if let Some(raised) = self.raised.take() {
            self.raise(raised);
        }
    }

    /// Tells whether the view may have coins worth more than the smallest one in memory, or if memory has room, any coins at
    /// all.
    pub(super) fn can_fetch(&self, full: bool) -> bool {
        match self.frontier {
            Frontier::End => false,
            Frontier::Top => true,
            Frontier::At(at) => !full || self.smallest().is_some_and(|smallest| smallest < at),
        }
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
        let quantity = u128::from(quantity);
        let (count, sum) = (self.held_count, self.held_sum);
        assert!(count > 0 && sum >= quantity, "a held coin was counted");
        self.held_count = count - 1;
        self.held_sum = sum - quantity;
    }

    /// Chooses coins worth `quantity`: the smallest single one that suffices, else the largest ones, with the last one as
    /// small as possible. `None` if free coins do not suffice, or only more than `states_max` of them.
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
            // No coin greater than this one is left, so a coin that suffices for the rest is this one or a smaller one.
            if largest.quantity >= rest {
                chosen.push(sufficient(rest).expect("the largest coin suffices"));
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
