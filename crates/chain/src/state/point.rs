//! A block as the point before the next one.

use primitives::Hash;

use crate::block::Header;
use crate::pos::BaseTarget;
use crate::{BlockTimestamp, Genesis, Height};

/// The data of a block that the next one needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// Its height.
    pub height: Height,
    /// Its hash.
    pub hash: Hash,
    /// Its time.
    pub time: BlockTimestamp,
    /// Its generation signature.
    pub generation: Hash,
    /// The base target after it.
    pub base_target: BaseTarget,
    /// The cumulative work up to it.
    pub difficulty: u128,
}

impl Point {
    /// Returns genesis as the point before block 1.
    #[must_use]
    pub fn genesis(genesis: &Genesis) -> Self {
        Self {
            height: Height::GENESIS,
            hash: genesis.hash,
            time: BlockTimestamp::GENESIS,
            generation: genesis.hash,
            base_target: genesis.base_target,
            difficulty: 0,
        }
    }

    /// Returns the height of the next block.
    ///
    /// # Panics
    /// There are no more heights. Each block is at least a second after the one before it, and times have 32 bits.
    #[must_use]
    pub fn next_height(&self) -> Height {
        let next = self.height.next();
        next.expect("a chain has fewer blocks than seconds")
    }

    /// Returns the point of a block.
    #[must_use]
    pub fn of(header: &Header, hash: Hash) -> Self {
        Self {
            height: header.height,
            hash,
            time: header.time,
            generation: header.generation,
            base_target: header.base_target,
            difficulty: header.difficulty,
        }
    }
}
