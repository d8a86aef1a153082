//! Analysis of the blocks of a finished run: the published tables, for any chain's blocks. Pure.

use std::collections::BTreeMap;

use super::{Chain, ChainId, ChildCount};
use crate::results::{BlockRange, FillRow, Fullest};

/// Upper limit on the ranges in a table of rates: as many as a chart shows.
pub const RANGES_MAX: u64 = 100;
/// Upper limit on the rows of a table of fill.
pub const FILL_ROWS_MAX: u64 = 60;
/// Number of fullest blocks listed.
pub const FULLEST_MAX: usize = 20;
/// The published ranges: 10,000 blocks, and 100 transactions.
const RANGE_PUBLISHED: u64 = 10_000;
const FILL_PUBLISHED: u64 = 100;

/// A block of the main chain, as far as the analysis needs it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BlockRow {
    /// Blocks before it.
    pub height: u64,
    /// Its time, seconds since the chain's beginning.
    pub time_s: u64,
    /// Transactions of the parent chain, child blocks not counted.
    pub parent: u32,
    /// Transactions of each child chain.
    pub children: Vec<ChildCount>,
}

impl BlockRow {
    /// Transactions of all chains.
    #[must_use]
    pub fn transactions(&self) -> u64 {
        u64::from(self.parent) + self.in_children()
    }

    /// Transactions of all child chains.
    #[must_use]
    pub fn in_children(&self) -> u64 {
        let counts = self.children.iter().map(|child| u64::from(child.count));
        counts.sum()
    }

    /// Transactions of one chain.
    fn on(&self, chain: ChainId) -> u64 {
        if chain == ChainId::PARENT {
            return u64::from(self.parent);
        }
        let counts = self.children.iter().filter(|child| child.chain == chain);
        counts.map(|child| u64::from(child.count)).sum()
    }
}

/// Returns the blocks per range for this many blocks: 1, 2, 5, 10 and so on, or the published 10,000 if there are enough.
#[must_use]
pub fn range_blocks(blocks: u64) -> u64 {
    match blocks {
        many if many >= RANGE_PUBLISHED * 10 => {
            RANGE_PUBLISHED.max(nice(many.div_ceil(RANGES_MAX)))
        }
        few => nice(few.div_ceil(RANGES_MAX)),
    }
}

/// Returns the transactions per row of fill: the published 100 if that makes few enough rows.
#[must_use]
pub fn fill_step(most: u64) -> u64 {
    match most {
        most if most >= FILL_PUBLISHED * 10 => {
            FILL_PUBLISHED.max(nice(most.div_ceil(FILL_ROWS_MAX)))
        }
        few => nice((few + 1).div_ceil(20)),
    }
}

/// Returns the least of 1, 2, 5, 10, 20, ... that is at least `number`. Above the last of them in 64 bits, it is the largest number.
fn nice(number: u64) -> u64 {
    let mut scale = 1u64;
    loop {
        for step in [1, 2, 5] {
            let found = scale.saturating_mul(step);
            if found >= number {
                return found;
            }
        }
        scale = scale.saturating_mul(10);
    }
}

/// Returns the rates by range of `each` blocks. `began_s` is the time of the block before the first one. Blocks are in
/// order of height. Block times are in seconds; a range whose blocks all have the same time continues until time has
/// passed.
#[must_use]
pub fn ranges(blocks: &[BlockRow], began_s: u64, each: u64) -> Vec<BlockRange> {
    let each = each.max(1);
    let (mut before, mut all, mut first) = (began_s, 0u64, 0);
    let mut ranges: Vec<BlockRange> = Vec::new();
    for (at, block) in blocks.iter().enumerate() {
        let is_last = at + 1 == blocks.len();
        if (((at + 1 - first) as u64) < each || block.time_s <= before) && !is_last {
            continue;
        }
        let transactions = sum(&blocks[first..=at]);
        all += transactions;
        let seconds = seconds_between(before, block.time_s);
        let cumulative_per_s = per_s(all, seconds_between(began_s, block.time_s));
        match ranges.last_mut() {
            // The end of the chain belongs to the range before, if it took no time.
            Some(last) if seconds <= 0.0 => {
                last.to = block.height;
                last.transactions += transactions;
                last.per_s = per_s(last.transactions, last.seconds);
                last.cumulative_per_s = cumulative_per_s;
            }
            _ => ranges.push(BlockRange {
                from: blocks[first].height,
                to: block.height,
                transactions,
                seconds,
                per_s: per_s(transactions, seconds),
                cumulative_per_s,
            }),
        }
        before = block.time_s;
        first = at + 1;
    }
    ranges
}

/// Counts blocks by their number of transactions, in rows of `step`: 0, then 1 to `step`, and so on. Empty rows at the
/// end are left out.
#[must_use]
pub fn fill(blocks: &[BlockRow], step: u64) -> Vec<FillRow> {
    let step = step.max(1);
    let mut rows: BTreeMap<u64, u64> = BTreeMap::new();
    for block in blocks {
        *rows.entry(block.transactions().div_ceil(step)).or_default() += 1;
    }
    let last = rows.keys().next_back().copied();
    let last = last.map_or(0, |last| last.min(FILL_ROWS_MAX * 2) + 1);
    (0..last)
        .map(|row| FillRow {
            from: if row == 0 { 0 } else { (row - 1) * step + 1 },
            to: row * step,
            // A row without an entry counts no block.
            blocks: rows.get(&row).copied().unwrap_or(0),
        })
        .collect()
}

/// Returns the fullest blocks of the parent chain, of each child chain, and of all child chains together.
#[must_use]
pub fn fullest(blocks: &[BlockRow], chains: &[Chain]) -> Vec<Fullest> {
    let top = |of: String, count: &dyn Fn(&BlockRow) -> u64| {
        let mut found: Vec<(u64, u64)> = blocks
            .iter()
            .map(|block| (block.height, count(block)))
            .filter(|(_, count)| *count > 0)
            .collect();
        // Among equally full blocks, the earlier one comes first.
        found.sort_by(|one, two| two.1.cmp(&one.1).then(one.0.cmp(&two.0)));
        found.truncate(FULLEST_MAX);
        Fullest { of, blocks: found }
    };
    let mut lists = vec![top("parent".to_owned(), &|block| block.on(ChainId::PARENT))];
    for chain in chains.iter().filter(|chain| chain.id != ChainId::PARENT) {
        lists.push(top(chain.name.clone(), &|block| block.on(chain.id)));
    }
    lists.push(top("all child chains".to_owned(), &BlockRow::in_children));
    lists
}

/// Returns the mean time between blocks, seconds; 0 without blocks.
#[must_use]
pub fn block_seconds(blocks: &[BlockRow], began_s: u64) -> f64 {
    match blocks.last() {
        None => 0.0,
        Some(last) => seconds_between(began_s, last.time_s) / blocks.len() as f64,
    }
}

/// Transactions of blocks, of all chains.
#[must_use]
pub fn sum(blocks: &[BlockRow]) -> u64 {
    blocks.iter().map(BlockRow::transactions).sum()
}

/// Returns the seconds from one block's time to a later block's. If the later block has the earlier time, it is 0: such a chain is
/// invalid, and the audit reports it.
fn seconds_between(from_s: u64, to_s: u64) -> f64 {
    to_s.saturating_sub(from_s) as f64
}

fn per_s(count: u64, seconds: f64) -> f64 {
    if seconds > 0.0 {
        count as f64 / seconds
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks of height 1 on, from times and transactions: of the parent chain, of chain 2, of chain 3.
    fn blocks(rows: &[(u64, u32, u32, u32)]) -> Vec<BlockRow> {
        let row = |(at, (time_s, parent, two, three)): (usize, &(u64, u32, u32, u32))| {
            let children = [(2, *two), (3, *three)]
                .into_iter()
                .filter(|(_, count)| *count > 0);
            BlockRow {
                height: at as u64 + 1,
                time_s: *time_s,
                parent: *parent,
                children: children
                    .map(|(chain, count)| ChildCount {
                        chain: ChainId(chain),
                        count,
                    })
                    .collect(),
            }
        };
        rows.iter().enumerate().map(row).collect()
    }

    #[test]
    fn rates_by_range_and_cumulative() {
        let blocks = blocks(&[
            (15, 10, 0, 0),
            (20, 10, 30, 0),
            (25, 0, 0, 0),
            (30, 5, 5, 10),
            (50, 100, 0, 0),
        ]);
        let found = ranges(&blocks, 10, 2);
        let rows: Vec<_> = found
            .iter()
            .map(|row| {
                (
                    row.from,
                    row.to,
                    row.transactions,
                    row.seconds,
                    row.per_s,
                    row.cumulative_per_s,
                )
            })
            .collect();
        assert_eq!(
            rows,
            [
                (1, 2, 50, 10.0, 5.0, 5.0),
                (3, 4, 20, 10.0, 2.0, 3.5),
                (5, 5, 100, 20.0, 5.0, 4.25),
            ]
        );
        assert_eq!(block_seconds(&blocks, 10), 8.0);
        assert_eq!(sum(&blocks), 170);
        let one = [
            (15, 1, 0, 0),
            (15, 2, 0, 0),
            (16, 3, 0, 0),
            (18, 4, 0, 0),
            (18, 5, 0, 0),
        ];
        let found = ranges(&self::blocks(&one), 15, 1);
        let rows: Vec<_> = found
            .iter()
            .map(|row| (row.from, row.to, row.transactions, row.per_s))
            .collect();
        assert_eq!(rows, [(1, 3, 6, 6.0), (4, 5, 9, 4.5)], "time stood still");
        assert!(ranges(&[], 0, 10).is_empty());
        assert_eq!(block_seconds(&[], 0), 0.0);
        assert_eq!(ranges(&blocks[..1], 15, 5)[0].per_s, 0.0, "no time passed");
    }

    #[test]
    fn blocks_by_how_full_they_are() {
        let blocks = blocks(&[
            (1, 0, 0, 0),
            (2, 1, 0, 0),
            (3, 50, 50, 0),
            (4, 101, 0, 0),
            (5, 0, 0, 350),
            (6, 0, 0, 0),
        ]);
        let rows: Vec<_> = fill(&blocks, 100)
            .into_iter()
            .map(|row| (row.from, row.to, row.blocks))
            .collect();
        assert_eq!(
            rows,
            [
                (0, 0, 2),
                (1, 100, 2),
                (101, 200, 1),
                (201, 300, 0),
                (301, 400, 1)
            ]
        );
        assert!(fill(&[], 100).is_empty());
    }

    #[test]
    fn the_fullest_blocks_of_each_chain() {
        let mut rows = vec![(1, 3, 9, 0), (2, 7, 0, 4), (3, 3, 9, 1)];
        rows.extend((0..30).map(|at| (4 + at, 1, 0, 0)));
        let chain = |id, name: &str| Chain {
            id: ChainId(id),
            name: name.to_owned(),
            ..Chain::default()
        };
        let found = fullest(
            &blocks(&rows),
            &[chain(1, "P"), chain(2, "A"), chain(3, "B")],
        );
        let names: Vec<&str> = found.iter().map(|list| list.of.as_str()).collect();
        assert_eq!(names, ["parent", "A", "B", "all child chains"]);
        assert_eq!(found[0].blocks[..4], [(2, 7), (1, 3), (3, 3), (4, 1)]);
        assert_eq!(found[0].blocks.len(), FULLEST_MAX);
        assert_eq!(found[1].blocks, [(1, 9), (3, 9)]);
        assert_eq!(found[2].blocks, [(2, 4), (3, 1)]);
        assert_eq!(found[3].blocks, [(3, 10), (1, 9), (2, 4)]);
    }

    #[test]
    fn ranges_fit_the_page_and_are_the_published_ones_where_there_is_enough() {
        for (blocks, each) in [
            (0, 1),
            (1, 1),
            (100, 1),
            (101, 2),
            (1_000, 10),
            (641_270, 10_000),
            (5_000_000, 50_000),
        ] {
            assert_eq!(range_blocks(blocks), each, "{blocks}");
            assert!(blocks / each <= RANGES_MAX);
        }
        for (most, step) in [
            (0, 1),
            (19, 1),
            (20, 2),
            (235, 20),
            (999, 50),
            (1_000, 100),
            (6_000, 100),
            (25_903, 500),
        ] {
            assert_eq!(fill_step(most), step, "{most}");
        }
    }
}
