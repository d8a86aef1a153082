//! The working set of one token: the coins in memory, and what is known of those in the view.
//!
//! # Invariants
//! - The *frontier*: every unconsumed coin of the token that is not in memory stands at the frontier or below it. Whatever is
//!   left out or put out of memory raises the frontier to its own position; an answer of the view lowers it.
//! - When memory is full, the smallest coins go first: memory tends to hold the greatest ones.

use std::collections::BTreeSet;

use ledger::{Party, PartyId};

use super::line::{Line, Waiter};
use super::pool::{Choice, Pool};
use crate::{CoinPosition, CoinRow, SelectionOptions};

/// Up to where coins may be in the view that are not in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Frontier {
    /// Anywhere.
    Top,
    /// Here or below.
    At(CoinPosition),
    /// Nowhere: every coin is in memory.
    End,
}

/// A refill on its way.
#[derive(Debug)]
pub(super) struct Outstanding {
    /// Refills are numbered.
    pub(super) number: u64,
    pub(super) at_least_seq: u64,
    /// The greatest coin left out since it was asked for: the answer may not show it.
    raised: Option<CoinPosition>,
    /// Quantities produced since, by ledger sequence.
    produced: Vec<(u64, u128)>,
}

/// What the view said last of the token's sum.
#[derive(Clone, Copy, Debug)]
struct Total {
    /// The ledger sequence that it includes.
    seq: u64,
    /// Never less than the sum at any later moment.
    most: u128,
}

/// What is to be done about a request that free coins do not satisfy.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Wait for coins that others hold.
    Wait,
    /// More coins may be in the view.
    Fetch,
    /// There is not so much.
    Insufficient { available: u128 },
    /// It would take too many states.
    Fragmented,
}

/// Different produced sequences told apart while a refill is on its way; more are counted together.
const PRODUCED_MAX: usize = 1_024;

/// See the module.
pub(super) struct Purse {
    pub(super) pools: Vec<Pool>,
    pub(super) line: Line,
    pub(super) free_count: usize,
    pub(super) free_bytes: usize,
    frontier: Frontier,
    pub(super) outstanding: Option<Outstanding>,
    total: Option<Total>,
    /// When it was asked for last, in requests: stale purses are forgotten first.
    pub(super) used: u64,
}

impl Purse {
    pub(super) fn new(used: u64) -> Self {
        Self {
            pools: Vec::new(),
            line: Line::default(),
            free_count: 0,
            free_bytes: 0,
            frontier: Frontier::Top,
            outstanding: None,
            total: None,
            used,
        }
    }

    pub(super) fn held_count(&self) -> usize {
        self.pools.iter().map(|pool| pool.held_count).sum()
    }

    /// Nobody waits, holds or fetches: it can be forgotten.
    pub(super) fn is_idle(&self) -> bool {
        self.line.is_empty() && self.outstanding.is_none() && self.held_count() == 0
    }

    /// The pool of a notary, by its place.
    pub(super) fn pool_of(&mut self, notary: &Party) -> usize {
        match self.pools.iter().position(|pool| pool.is_of(notary)) {
            Some(at) => at,
            None => {
                self.pools.push(Pool::new(notary.clone()));
                self.pools.len() - 1
            }
        }
    }

    pub(super) fn insert_free(&mut self, pool: usize, row: Box<CoinRow>) {
        self.free_count += 1;
        self.free_bytes += row.weight_bytes();
        self.pools[pool].insert(row);
    }

    pub(super) fn remove_free(&mut self, pool: usize, at: &CoinPosition) -> Option<Box<CoinRow>> {
        let row = self.pools.get_mut(pool)?.remove(at)?;
        self.free_count -= 1;
        self.free_bytes -= row.weight_bytes();
        Some(row)
    }

    /// The smallest free coin and its pool.
    pub(super) fn smallest(&self) -> Option<(CoinPosition, usize)> {
        let pools = self.pools.iter().enumerate();
        pools
            .filter_map(|(at, pool)| Some((pool.smallest()?, at)))
            .min()
    }

    /// A coin at this position is left out of memory.
    pub(super) fn raise(&mut self, to: CoinPosition) {
        if let Some(outstanding) = &mut self.outstanding {
            outstanding.raised = outstanding.raised.max(Some(to));
        }
        self.frontier = match self.frontier {
            Frontier::Top => Frontier::Top,
            Frontier::At(at) => Frontier::At(at.max(to)),
            Frontier::End => Frontier::At(to),
        };
    }

    /// A coin of this token was produced.
    pub(super) fn produced(&mut self, seq: u64, quantity: u64) {
        if let Some(outstanding) = &mut self.outstanding {
            let crowded = outstanding.produced.len() >= PRODUCED_MAX;
            match outstanding.produced.last_mut() {
                Some((last, sum)) if *last >= seq => *sum += u128::from(quantity),
                Some((last, sum)) if crowded => {
                    // Counted with a later sequence than it has: the sum becomes an upper bound, which is all it is for.
                    *last = seq;
                    *sum += u128::from(quantity);
                }
                _ => outstanding.produced.push((seq, u128::from(quantity))),
            }
        }
        if let Some(total) = self.total.as_mut().filter(|total| total.seq < seq) {
            total.most = total.most.saturating_add(u128::from(quantity));
        }
    }

    /// Whether the view may have coins that are worth more than the least of those in memory, or for which there is room.
    pub(super) fn can_fetch(&self, full: bool) -> bool {
        match self.frontier {
            Frontier::End => false,
            _ if !full => true,
            Frontier::Top => true,
            Frontier::At(at) => self.smallest().is_some_and(|(smallest, _)| smallest < at),
        }
    }

    /// From where to fetch next; notes that it is on its way.
    pub(super) fn ask(&mut self, number: u64, at_least_seq: u64) -> Option<CoinPosition> {
        let from = match self.frontier {
            Frontier::At(at) => Some(at),
            Frontier::Top | Frontier::End => None,
        };
        self.outstanding = Some(Outstanding {
            number,
            at_least_seq,
            raised: None,
            produced: Vec::new(),
        });
        from
    }

    /// The view's answer: its last row, unless it has no more. Rows are taken in afterwards.
    pub(super) fn answered(
        &mut self,
        asked: Outstanding,
        seq: u64,
        total: u128,
        last: Option<CoinPosition>,
    ) {
        self.frontier = last.map_or(Frontier::End, Frontier::At);
        if let Some(raised) = asked.raised {
            self.raise(raised);
        }
        let since = asked.produced.iter().filter(|(at, _)| *at > seq);
        let most = since.fold(total, |sum, (_, more)| sum.saturating_add(*more));
        self.total = Some(Total { seq, most });
    }

    /// Chooses free coins for a request, at one notary that is not blocked.
    pub(super) fn choose(
        &self,
        waiter: &Waiter,
        blocked: &BTreeSet<PartyId>,
        states_max: usize,
    ) -> Option<(usize, Vec<CoinPosition>)> {
        let mut best: Option<(Choice, usize)> = None;
        for (at, pool) in self.pools.iter().enumerate() {
            if !wants(waiter, pool) || blocked.contains(&pool.notary_id) {
                continue;
            }
            if let Some(choice) = pool.choose(waiter.quantity, states_max)
                && best.as_ref().is_none_or(|(other, _)| choice < *other)
            {
                best = Some((choice, at));
            }
        }
        match best? {
            (Choice::One(position), at) => Some((at, vec![position])),
            (Choice::Several(_, positions), at) => Some((at, positions)),
        }
    }

    /// What is to be done about a request that free coins do not satisfy now.
    pub(super) fn judge(&self, waiter: &Waiter, full: bool) -> Verdict {
        let quantity = u128::from(waiter.quantity);
        let pools = || self.pools.iter().filter(|pool| wants(waiter, pool));
        let known = pools().map(Pool::known_sum).max().unwrap_or(0);
        let can_fetch = self.can_fetch(full);
        if known >= quantity {
            let held = pools().any(|pool| pool.known_sum() >= quantity && pool.held_count > 0);
            return match (can_fetch, held) {
                (true, _) => Verdict::Fetch,
                (false, true) => Verdict::Wait,
                (false, false) => Verdict::Fragmented,
            };
        }
        if self.frontier == Frontier::End {
            return Verdict::Insufficient { available: known };
        }
        let total = self.total.filter(|total| total.seq >= waiter.arrived_seq);
        match total {
            Some(total) if total.most.max(known) < quantity => Verdict::Insufficient {
                available: total.most.max(known),
            },
            _ if can_fetch => Verdict::Fetch,
            // Memory is full of the greatest coins there are.
            _ => Verdict::Fragmented,
        }
    }

    /// Whether free coins run low.
    pub(super) fn is_low(&self, options: &SelectionOptions, full: bool) -> bool {
        self.free_count < options.low_water && !full && self.frontier != Frontier::End
    }
}

fn wants(waiter: &Waiter, pool: &Pool) -> bool {
    waiter.notary.is_none_or(|notary| notary == pool.notary_id)
}
