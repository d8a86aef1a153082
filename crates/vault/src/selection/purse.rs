//! The working set of one token: a pool for each notary, the line of waiting requests, and the outstanding refill.

use std::collections::BTreeSet;

use ledger::{Party, PartyId};

use super::line::{Line, Waiter};
use super::pool::{Choice, Frontier, Pool};
use crate::{CoinPosition, CoinRow};

/// A refill that the view has not answered yet.
#[derive(Debug)]
pub(super) struct Outstanding {
    /// Refills are numbered.
    pub(super) number: u64,
    pub(super) at_least_seq: u64,
    pub(super) from: Frontier,
    /// Quantities produced since the request, by ledger sequence.
    produced: Vec<(u64, u128)>,
}

/// The token's sum in the view's last answer.
#[derive(Clone, Copy, Debug)]
struct Total {
    /// The ledger sequence that it includes.
    seq: u64,
    /// An upper bound on the token's sum now: the sum at `seq` plus all that was produced since.
    most: u128,
}

/// The next step for a request that free coins do not satisfy.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Wait for coins that are held now.
    Wait,
    /// More coins may be in the view, from here down.
    Fetch(Frontier),
    /// The vault holds less than the requested quantity.
    Insufficient { available: u128 },
    /// The quantity can only be reached with more states than one selection may take.
    Fragmented,
}

impl Verdict {
    /// Returns whether the request fails.
    pub(super) fn refuses(&self) -> bool {
        matches!(self, Verdict::Insufficient { .. } | Verdict::Fragmented)
    }
}

/// Maximum number of ledger sequences whose produced quantities are counted separately while a refill is outstanding. Further
/// ones are added to the last.
const PRODUCED_MAX: usize = 1_024;

/// The coins of one token, its waiting requests and its refill in progress.
pub(super) struct Purse {
    pub(super) pools: Vec<Pool>,
    pub(super) line: Line,
    pub(super) free_count: usize,
    pub(super) free_bytes: usize,
    /// The frontier of notaries that have no pool yet.
    others: Frontier,
    pub(super) outstanding: Option<Outstanding>,
    total: Option<Total>,
    /// The ticket of the latest request for this token. The purse with the lowest ticket is forgotten first.
    pub(super) used: u64,
}

impl Purse {
    pub(super) fn new(used: u64) -> Self {
        Self {
            pools: Vec::new(),
            line: Line::default(),
            free_count: 0,
            free_bytes: 0,
            others: Frontier::Top,
            outstanding: None,
            total: None,
            used,
        }
    }

    pub(super) fn held_count(&self) -> usize {
        self.pools.iter().map(|pool| pool.held_count).sum()
    }

    /// Tells whether the purse can be forgotten: no request waits, no coin is held, and no refill is outstanding.
    pub(super) fn is_idle(&self) -> bool {
        self.line.is_empty() && self.outstanding.is_none() && self.held_count() == 0
    }

    /// Returns the index of a notary's pool, which is added if it is missing.
    pub(super) fn pool_of(&mut self, notary: &Party) -> usize {
        match self.pools.iter().position(|pool| pool.is_of(notary)) {
            Some(at) => at,
            None => {
                self.pools.push(Pool::new(notary.clone(), self.others));
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

    /// Records that a coin of this token was produced.
    pub(super) fn produced(&mut self, seq: u64, quantity: u64) {
        if let Some(outstanding) = &mut self.outstanding {
            let crowded = outstanding.produced.len() >= PRODUCED_MAX;
            match outstanding.produced.last_mut() {
                Some((last, sum)) if *last >= seq => *sum += u128::from(quantity),
                Some((last, sum)) if crowded => {
                    // Counts the last quantity under the new, later sequence. The sum becomes an upper bound, and it is only
                    // used as one.
                    *last = seq;
                    *sum += u128::from(quantity);
                }
                _ => outstanding.produced.push((seq, u128::from(quantity))),
            }
        }
        if let Some(total) = self.total.as_mut().filter(|total| total.seq < seq) {
            total.most += u128::from(quantity);
        }
    }

    /// Records that a refill from `from` downwards is requested. Returns the position to start at, or `None` for the top.
    pub(super) fn ask(
        &mut self,
        number: u64,
        from: Frontier,
        at_least_seq: u64,
    ) -> Option<CoinPosition> {
        for pool in &mut self.pools {
            pool.asked();
        }
        self.outstanding = Some(Outstanding {
            number,
            at_least_seq,
            from,
            produced: Vec::new(),
        });
        match from {
            Frontier::At(at) => Some(at),
            Frontier::Top | Frontier::End => None,
        }
    }

    /// Records the view's answer. `last` is the position of its last row, or `None` if the view has no further coins. The
    /// caller adds the rows afterwards.
    pub(super) fn answered(
        &mut self,
        asked: Outstanding,
        seq: u64,
        total: u128,
        last: Option<CoinPosition>,
    ) {
        let last = last.map_or(Frontier::End, Frontier::At);
        self.others.lower(asked.from, last);
        for pool in &mut self.pools {
            pool.answered(asked.from, last);
        }
        let since = asked.produced.iter().filter(|(at, _)| *at > seq);
        let most = total + since.map(|(_, more)| more).sum::<u128>();
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

    /// Decides the next step for a request that free coins do not satisfy now.
    pub(super) fn judge(&self, waiter: &Waiter, is_full: impl Fn(&Pool) -> bool) -> Verdict {
        let quantity = u128::from(waiter.quantity);
        let pools = || self.pools.iter().filter(|pool| wants(waiter, pool));
        // Without a pool, no coin is known.
        let known = pools().map(Pool::known_sum).max().unwrap_or(0);
        // Notaries without a pool are included if the request names one of them, or if it names no notary and no pool is full.
        // Otherwise a search through all coins of the token is not worth its cost.
        let others = match waiter.notary {
            Some(_) => pools().next().is_none(),
            None => !self.pools.iter().any(&is_full),
        };
        let fetch = self.fetch_from(pools(), others, &is_full);
        if known >= quantity {
            let held = pools().any(|pool| pool.known_sum() >= quantity && pool.held_count > 0);
            return match (fetch, held) {
                (Some(from), _) => Verdict::Fetch(from),
                (None, true) => Verdict::Wait,
                (None, false) => Verdict::Fragmented,
            };
        }
        let mut frontiers = pools().map(|pool| pool.frontier);
        let complete = match waiter.notary {
            // A notary without a pool shares the frontier of all such notaries.
            Some(_) => frontiers.next().unwrap_or(self.others) == Frontier::End,
            None => self.others == Frontier::End && frontiers.all(|at| at == Frontier::End),
        };
        if complete {
            return Verdict::Insufficient { available: known };
        }
        let total = self.total.filter(|total| total.seq >= waiter.arrived_seq);
        match (total, fetch) {
            (Some(total), _) if total.most.max(known) < quantity => Verdict::Insufficient {
                available: total.most.max(known),
            },
            (_, Some(from)) => Verdict::Fetch(from),
            // Memory is full and holds the greatest coins that exist.
            (_, None) => Verdict::Fragmented,
        }
    }

    /// Returns the position to fetch from when free coins run low.
    pub(super) fn fetch_ahead(&self, is_full: impl Fn(&Pool) -> bool) -> Option<Frontier> {
        let others = !self.pools.iter().any(&is_full);
        let pools = self.pools.iter().filter(|pool| !is_full(pool));
        self.fetch_from(pools, others, &is_full)
    }

    /// Returns the start position of a refill that fetches further coins of these pools. If `others` is set, it also fetches
    /// those of notaries without a pool.
    fn fetch_from<'a>(
        &self,
        pools: impl Iterator<Item = &'a Pool>,
        others: bool,
        is_full: impl Fn(&Pool) -> bool,
    ) -> Option<Frontier> {
        let others = Some(self.others).filter(|at| others && *at != Frontier::End);
        pools
            .filter(|pool| pool.can_fetch(is_full(pool)))
            .map(|pool| pool.frontier)
            .chain(others)
            .max()
    }
}

fn wants(waiter: &Waiter, pool: &Pool) -> bool {
    waiter.notary.is_none_or(|notary| notary == pool.notary_id)
}
