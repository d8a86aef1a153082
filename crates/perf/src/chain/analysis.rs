//! Analysis of the blocks of a finished run: the published tables, for any chain's blocks. Pure.

use std::collections::BTreeMap;

use super::{Chain, ChainId, ChildCount};
use crate::results::{BlockRange, BlockTotals, FillRow, Fullest};

/// Upper limit on the ranges in a table of rates: as many as a chart shows.
pub const RANGES_MAX: u64 = 100;
/// Upper limit on the rows of a table of fill.
pub const FILL_ROWS_MAX: u64 = 60;
/// Upper limit on the rows of the table by hundreds: as many as a block of a million transactions needs.
pub const HUNDREDS_MAX: u64 = 10_000;
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
    /// Transactions of each child block.
    pub children: Vec<ChildCount>,
    /// Bytes of its body, if the node names them.
    pub bytes: Option<u64>,
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
                last.end_s = Some(block.time_s);
                last.totals = Some(totals(within(blocks, last.from, last.to)));
            }
            _ => ranges.push(BlockRange {
                from: blocks[first].height,
                to: block.height,
                transactions,
                seconds,
                per_s: per_s(transactions, seconds),
                cumulative_per_s,
                start_s: Some(before),
                end_s: Some(block.time_s),
                totals: Some(totals(&blocks[first..=at])),
            }),
        }
        before = block.time_s;
        first = at + 1;
    }
    ranges
}

/// Returns the blocks of these heights; `blocks` are in order of height.
fn within(blocks: &[BlockRow], from: u64, to: u64) -> &[BlockRow] {
    let start = blocks.partition_point(|block| block.height < from);
    let end = blocks.partition_point(|block| block.height <= to);
    &blocks[start..end]
}

/// Returns the content of blocks. The bytes are known only if they are known of every block, and their sum is a number.
#[must_use]
pub fn totals(blocks: &[BlockRow]) -> BlockTotals {
    let child_blocks = blocks.iter().map(|block| block.children.len() as u64);
    let mut all = blocks.iter();
    let payload_bytes = all.try_fold(0u64, |sum, block| sum.checked_add(block.bytes?));
    BlockTotals {
        blocks: blocks.len() as u64,
        parent: blocks.iter().map(|block| u64::from(block.parent)).sum(),
        child: blocks.iter().map(BlockRow::in_children).sum(),
        child_blocks: child_blocks.sum(),
        payload_bytes: payload_bytes.filter(|_| !blocks.is_empty()),
    }
}

/// Counts blocks by hundreds of transactions, as the published analysis does: every row up to the fullest block's.
#[must_use]
pub fn hundreds(blocks: &[BlockRow]) -> Vec<FillRow> {
    rows(blocks, FILL_PUBLISHED, HUNDREDS_MAX)
}

/// Counts blocks by their number of transactions, in rows of `step`: 0, then 1 to `step`, and so on. Empty rows at the
/// end are left out.
#[must_use]
pub fn fill(blocks: &[BlockRow], step: u64) -> Vec<FillRow> {
    rows(blocks, step, FILL_ROWS_MAX * 2)
}

/// Returns rows of `step` transactions, `most` of them after the row of empty blocks.
fn rows(blocks: &[BlockRow], step: u64, most: u64) -> Vec<FillRow> {
    let step = step.max(1);
    let mut rows: BTreeMap<u64, u64> = BTreeMap::new();
    for block in blocks {
        *rows.entry(block.transactions().div_ceil(step)).or_default() += 1;
    }
    let last = rows.keys().next_back().copied();
    let last = last.map_or(0, |last| last.min(most) + 1);
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
mod tests;
