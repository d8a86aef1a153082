//! A node's main chain as a repeated reader sees it: the time of each block, and the blocks that forks took back. Pure.

use super::BlockSeen;

/// Upper limit on the blocks of one chain that are kept: years of them.
pub const BLOCKS_MAX: usize = 4_000_000;
/// Upper limit on how far back the common block of two branches is searched.
pub const BACK_MAX: u64 = 100_000;

/// A block of the main chain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placed {
    /// Blocks before it.
    pub height: u64,
    /// The node's id for it.
    pub id: String,
    /// The time at which it was first seen in the main chain, milliseconds since the scenario began.
    pub seen_ms: u64,
}

/// An observed fork.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ForkSeen {
    /// Its time, milliseconds since the scenario began.
    pub at_ms: u64,
    /// Blocks rolled back.
    pub depth: u32,
}

/// The main chain so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    blocks: Vec<Placed>,
    forks: Vec<ForkSeen>,
}

/// The outcome of taking in blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineUpdate {
    /// They are in the line.
    Taken,
    /// They do not connect. The blocks from this height on are needed first.
    Needed(u64),
}

impl Line {
    /// Returns the block at the end.
    #[must_use]
    pub fn tip(&self) -> Option<&Placed> {
        self.blocks.last()
    }

    /// Returns all blocks, in order of height.
    #[must_use]
    pub fn blocks(&self) -> &[Placed] {
        &self.blocks
    }

    /// Returns the forks, in order of time.
    #[must_use]
    pub fn forks(&self) -> &[ForkSeen] {
        &self.forks
    }

    /// Returns the block at a height.
    #[must_use]
    pub fn at(&self, height: u64) -> Option<&Placed> {
        let first = self.blocks.first()?.height;
        self.blocks
            .get(usize::try_from(height.checked_sub(first)?).ok()?)
    }

    /// Takes in blocks of a node's main chain, ascending without gaps. `at_ms` is the time of the reading.
    pub fn tell(&mut self, blocks: &[BlockSeen], at_ms: u64) -> LineUpdate {
        let Some(first) = blocks.first() else {
            return LineUpdate::Taken;
        };
        if let (Some(tip), Some(lowest)) = (self.blocks.last(), self.blocks.first()) {
            if let Some(next) = tip.height.checked_add(1)
                && first.height > next
            {
                return LineUpdate::Needed(next);
            }
            let before = first
                .height
                .checked_sub(1)
                .and_then(|height| self.at(height));
            let joins = match before {
                Some(before) => before.id == first.previous,
                // Nothing below is known: blocks that begin at or below the lowest one replace everything.
                None => first.height <= lowest.height,
            };
            if !joins {
                // The blocks may follow the tip, and then none of the known ones is above them. BACK_MAX limits the other steps.
                let back = tip
                    .height
                    .saturating_sub(first.height)
                    .saturating_add(2)
                    .saturating_mul(2);
                // Going back further than genesis means to begin there, or at the lowest known block.
                return LineUpdate::Needed(
                    first
                        .height
                        .saturating_sub(back.min(BACK_MAX))
                        .max(lowest.height),
                );
            }
        }
        let known = |line: &Self, block: &BlockSeen| {
            line.at(block.height)
                .is_some_and(|placed| placed.id == block.id)
        };
        let new = blocks.iter().position(|block| !known(self, block));
        let Some(new) = new.map(|new| &blocks[new..]).filter(|new| !new.is_empty()) else {
            return LineUpdate::Taken;
        };
        let keep = self
            .blocks
            .iter()
            .position(|placed| placed.height >= new[0].height)
            // All known blocks are below the new ones and stay.
            .unwrap_or(self.blocks.len());
        let depth = self.blocks.len() - keep;
        if depth > 0 {
            self.blocks.truncate(keep);
            self.forks.push(ForkSeen {
                at_ms,
                depth: u32::try_from(depth).expect("at most BLOCKS_MAX blocks"),
            });
        }
        let room = BLOCKS_MAX - self.blocks.len();
        self.blocks
            .extend(new.iter().take(room).map(|block| Placed {
                height: block.height,
                id: block.id.clone(),
                seen_ms: at_ms,
            }));
        LineUpdate::Taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks of a branch: `a5 a6` are at the heights 5 and 6; the first one's parent is given.
    fn blocks(previous: &str, ids: &[&str]) -> Vec<BlockSeen> {
        let mut previous = previous.to_owned();
        let block = |id: &&str| BlockSeen {
            height: id[1..].parse().expect("a letter and a height"),
            id: (*id).to_owned(),
            previous: std::mem::replace(&mut previous, (*id).to_owned()),
            ..BlockSeen::default()
        };
        ids.iter().map(block).collect()
    }

    fn shown(line: &Line) -> String {
        let blocks: Vec<String> = line
            .blocks()
            .iter()
            .map(|placed| format!("{}@{}", placed.id, placed.seen_ms))
            .collect();
        let forks: Vec<String> = line
            .forks()
            .iter()
            .map(|fork| format!("-{}", fork.depth))
            .collect();
        format!("{} {}", blocks.join(" "), forks.concat())
    }

    #[test]
    fn what_comes_in_what_order_makes_which_line() {
        let told = |told: &[(&str, &[&str])]| {
            let mut line = Line::default();
            let mut last = LineUpdate::Taken;
            for (at, (previous, ids)) in told.iter().enumerate() {
                last = line.tell(&blocks(previous, ids), at as u64);
            }
            (shown(&line), last)
        };
        for (given, wanted, last) in [
            (
                &[("", &["a1", "a2"][..]), ("a2", &["a3"])][..],
                "a1@0 a2@0 a3@1 ",
                LineUpdate::Taken,
            ),
            // Known blocks change nothing.
            (
                &[("", &["a1", "a2"]), ("a1", &["a2"])],
                "a1@0 a2@0 ",
                LineUpdate::Taken,
            ),
            (
                &[("", &["a1", "a2"]), ("a1", &["a2", "a3"])],
                "a1@0 a2@0 a3@1 ",
                LineUpdate::Taken,
            ),
            // A sibling of the tip.
            (
                &[("", &["a1", "a2"]), ("a1", &["b2"])],
                "a1@0 b2@1 -1",
                LineUpdate::Taken,
            ),
            // A longer branch, given from its middle: the blocks below are requested.
            (
                &[("", &["a1", "a2", "a3"]), ("b3", &["b4"])],
                "a1@0 a2@0 a3@0 ",
                LineUpdate::Needed(1),
            ),
            (
                &[("", &["a1", "a2", "a3"]), ("", &["a1", "b2", "b3", "b4"])],
                "a1@0 b2@1 b3@1 b4@1 -2",
                LineUpdate::Taken,
            ),
            // A gap.
            (
                &[("", &["a1"]), ("a3", &["a4"])],
                "a1@0 ",
                LineUpdate::Needed(2),
            ),
            // An entirely different chain.
            (
                &[("x4", &["a5", "a6"]), ("y4", &["c5", "c6", "c7"])],
                "c5@1 c6@1 c7@1 -2",
                LineUpdate::Taken,
            ),
            // Shorter, but better.
            (
                &[("", &["a1", "a2", "a3"]), ("a1", &["b2"])],
                "a1@0 b2@1 -2",
                LineUpdate::Taken,
            ),
            (&[("", &["a1"]), ("", &[])], "a1@0 ", LineUpdate::Taken),
        ] {
            assert_eq!(told(given), (wanted.to_owned(), last), "{given:?}");
        }
    }

    #[test]
    fn blocks_are_found_by_height() {
        let mut line = Line::default();
        line.tell(&blocks("x", &["a7", "a8"]), 3);
        let at = |height| line.at(height).map(|placed| placed.id.as_str());
        assert_eq!(
            [at(6), at(7), at(8), at(9)],
            [None, Some("a7"), Some("a8"), None]
        );
        assert_eq!(line.tip().map(|tip| tip.height), Some(8));
    }
}
