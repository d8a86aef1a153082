//! A cache of the held balances of accounts that forge or lease, because every block needs their windows.

use std::collections::{HashMap, VecDeque};

use super::rows;
use crate::port::{Reads, StoreFailure, Table};
use crate::{AccountId, Height, MinorUnits};

/// Maximum number of cached accounts.
const ACCOUNTS_MAX: usize = 256;
/// Rows that are read at a time. Most accounts change rarely, so the first page is small.
const PAGES: [usize; 2] = [8, 512];

/// One account's rows from some height on.
#[derive(Debug)]
struct Rows {
    /// Height and balance, ascending. The first row may be at or below `floor` and then gives the balance there.
    rows: VecDeque<(Height, MinorUnits)>,
    /// The lowest height with a known balance.
    floor: Height,
}

impl Rows {
    /// Returns the lowest balance at the ends of the heights `lowest..=highest`. The balance before the first row is zero.
    fn least(&self, lowest: Height, highest: Height) -> MinorUnits {
        let mut least = MinorUnits::MAX;
        for (height, balance) in self.rows.iter().rev() {
            if *height > highest {
                continue;
            }
            least = least.min(*balance);
            if *height <= lowest {
                return least;
            }
        }
        MinorUnits::ZERO
    }
}

/// Cached rows of `Held`, including all applied changes.
#[derive(Debug)]
pub(super) struct HeldCache {
    accounts: HashMap<AccountId, Rows>,
    /// Number of heights below the latest that are kept.
    depth: u32,
}

impl HeldCache {
    pub(super) fn new(depth: u32) -> Self {
        Self {
            accounts: HashMap::new(),
            depth,
        }
    }

    /// Returns the lowest balance at the ends of the heights `lowest..=highest`.
    pub(super) fn least(
        &mut self,
        reads: &impl Reads<Table>,
        account: &AccountId,
        lowest: Height,
        highest: Height,
    ) -> Result<MinorUnits, StoreFailure> {
        if let Some(rows) = self.accounts.get(account)
            && rows.floor <= lowest
        {
            return Ok(rows.least(lowest, highest));
        }
        // Load somewhat deeper than requested, because a branch may need a lower window next.
        let rows = load(
            reads,
            account,
            // A young chain has rows from genesis on.
            lowest.min(highest.minus_or_genesis(self.depth)),
        )?;
        let least = rows.least(lowest, highest);
        if self.accounts.len() >= ACCOUNTS_MAX && !self.accounts.contains_key(account) {
            self.accounts.clear();
        }
        self.accounts.insert(*account, rows);
        Ok(least)
    }

    /// Updates the cache after a row of `Held` was written or deleted.
    pub(super) fn wrote(&mut self, key: &[u8], value: Option<&[u8]>) {
        let Ok((account, height)) = rows::read_held_key(key) else {
            return;
        };
        let Some(known) = self.accounts.get_mut(&account) else {
            return;
        };
        let last = known.rows.back().map(|(height, _)| *height);
        match value.map(rows::read_minor_units) {
            Some(Ok(balance)) if last.is_none_or(|last| last < height) => {
                known.rows.push_back((height, balance));
                // A young chain has rows from genesis on.
                let floor = height.minus_or_genesis(self.depth);
                while known
                    .rows
                    .get(1)
                    .is_some_and(|(second, _)| *second <= floor)
                {
                    known.rows.pop_front();
                    known.floor = known.floor.max(floor);
                }
            }
            None if last == Some(height) && height > known.floor => {
                known.rows.pop_back();
            }
            // The row and all earlier ones are pruned, because no window reaches them any more.
            None if last.is_some_and(|last| height < last) => {
                while known
                    .rows
                    .front()
                    .is_some_and(|(first, _)| *first <= height)
                {
                    known.rows.pop_front();
                }
                known.floor = known.floor.max(height.plus_or_last(1));
            }
            _ => {
                self.accounts.remove(&account);
            }
        }
    }
}

fn load(
    reads: &impl Reads<Table>,
    account: &AccountId,
    floor: Height,
) -> Result<Rows, StoreFailure> {
    let end = [&rows::held_key(account, Height::GENESIS)[..], &[0]].concat();
    let mut from = rows::held_key(account, Height::LAST).to_vec();
    let mut found = VecDeque::new();
    'pages: for page in std::iter::once(PAGES[0]).chain(std::iter::repeat(PAGES[1])) {
        let rows_read = reads.scan(Table::Held, &from, Some(&end), page)?;
        for (key, value) in &rows_read {
            let height = rows::read_held_key(key)?.1;
            found.push_front((height, rows::read_minor_units(value)?));
            if height <= floor {
                break 'pages;
            }
        }
        match rows_read.last() {
            Some((last, _)) if rows_read.len() == page => from = [last, &[0][..]].concat(),
            _ => break,
        }
    }
    Ok(Rows { rows: found, floor })
}
