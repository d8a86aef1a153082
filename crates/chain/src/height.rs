//! The height of a block.

use std::fmt;

/// The number of blocks before a block on its branch. Genesis has height 0. Numbers of blocks are plain integers, so heights
/// cannot be added to each other, and the difference of two heights is a number of blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Height(u32);

impl Height {
    /// The height of genesis.
    pub const GENESIS: Self = Self(0);
    /// The height of the first block after genesis.
    pub const FIRST: Self = Self(1);
    /// The last height that the formats can express. No chain reaches it: each block is at least a second after the one before
    /// it, and times have 32 bits too.
    pub const LAST: Self = Self(u32::MAX);

    /// Makes a height from the number of blocks before it.
    #[must_use]
    pub const fn new(blocks_before: u32) -> Self {
        Self(blocks_before)
    }

    /// Returns the number of blocks before it.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }

    /// Returns whether this is the height of genesis.
    #[must_use]
    pub const fn is_genesis(self) -> bool {
        self.0 == 0
    }

    /// Returns the next height, or `None` after [`Height::LAST`].
    #[must_use]
    pub const fn next(self) -> Option<Self> {
        self.plus(1)
    }

    /// Returns the height below, or `None` at genesis.
    #[must_use]
    pub const fn previous(self) -> Option<Self> {
        self.minus(1)
    }

    /// Returns the height that many blocks above, or `None` beyond [`Height::LAST`].
    #[must_use]
    pub const fn plus(self, blocks: u32) -> Option<Self> {
        match self.0.checked_add(blocks) {
            Some(height) => Some(Self(height)),
            None => None,
        }
    }

    /// Returns the height that many blocks below, or `None` below genesis.
    #[must_use]
    pub const fn minus(self, blocks: u32) -> Option<Self> {
        match self.0.checked_sub(blocks) {
            Some(height) => Some(Self(height)),
            None => None,
        }
    }

    /// Returns the height that many blocks above, at most [`Height::LAST`]. For limits that a chain never reaches.
    #[must_use]
    pub const fn plus_or_last(self, blocks: u32) -> Self {
        // A limit beyond the last height is as unreachable as the last one.
        Self(self.0.saturating_add(blocks))
    }

    /// Returns the height that many blocks below, at least genesis. For windows, which begin at genesis in a young chain.
    #[must_use]
    pub const fn minus_or_genesis(self, blocks: u32) -> Self {
        // No block is below genesis.
        Self(self.0.saturating_sub(blocks))
    }

    /// Returns the number of blocks from a lower or equal height to this one, or `None` if the other one is higher.
    #[must_use]
    pub const fn blocks_since(self, earlier: Self) -> Option<u32> {
        self.0.checked_sub(earlier.0)
    }

    /// Returns the heights from this one to `last`, both included. There are none if `last` is lower.
    pub fn through(self, last: Self) -> impl DoubleEndedIterator<Item = Self> {
        (self.0..=last.0).map(Self)
    }

    /// Returns the heights above this one, up to `last`. There are none if `last` is not higher.
    pub fn above_through(self, last: Self) -> impl DoubleEndedIterator<Item = Self> {
        let mut heights = self.through(last);
        heights.next();
        heights
    }

    /// Encodes the height as a big-endian integer.
    #[must_use]
    pub const fn to_be_bytes(self) -> [u8; 4] {
        self.0.to_be_bytes()
    }

    /// Decodes a height that [`Height::to_be_bytes`] has encoded.
    #[must_use]
    pub const fn from_be_bytes(bytes: [u8; 4]) -> Self {
        Self(u32::from_be_bytes(bytes))
    }
}

impl fmt::Display for Height {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_end_at_genesis_and_at_the_last_height() {
        let height = Height::new;
        assert_eq!(Height::GENESIS.previous(), None);
        assert_eq!(Height::LAST.next(), None);
        assert_eq!(height(7).next(), Some(height(8)));
        assert_eq!(height(7).previous(), Some(height(6)));
        assert_eq!(height(7).plus(u32::MAX - 7), Some(Height::LAST));
        assert_eq!(height(7).plus(u32::MAX - 6), None);
        assert_eq!(height(7).minus(8), None);
        assert_eq!(height(7).minus_or_genesis(8), Height::GENESIS);
        assert_eq!(height(7).plus_or_last(u32::MAX), Height::LAST);
    }

    #[test]
    fn differences_are_numbers_of_blocks() {
        let (low, high) = (Height::new(3), Height::new(8));
        assert_eq!(high.blocks_since(low), Some(5));
        assert_eq!(low.blocks_since(low), Some(0));
        assert_eq!(low.blocks_since(high), None);
    }

    #[test]
    fn ranges_include_both_ends_or_only_the_upper_one() {
        let list = |heights: &mut dyn Iterator<Item = Height>| -> Vec<u32> {
            heights.map(Height::get).collect()
        };
        let (low, high) = (Height::new(3), Height::new(6));
        assert_eq!(list(&mut low.through(high)), [3, 4, 5, 6]);
        assert_eq!(list(&mut low.above_through(high).rev()), [6, 5, 4]);
        assert_eq!(list(&mut low.above_through(low)), [0; 0]);
        assert_eq!(list(&mut high.above_through(low)), [0; 0]);
        assert_eq!(list(&mut Height::LAST.above_through(Height::LAST)), [0; 0]);
    }

    #[test]
    fn bytes_and_text_are_those_of_the_integer() {
        let height = Height::new(0x0102_0304);
        assert_eq!(height.to_be_bytes(), [1, 2, 3, 4]);
        assert_eq!(Height::from_be_bytes([1, 2, 3, 4]), height);
        assert_eq!(height.to_string(), "16909060");
    }
}
