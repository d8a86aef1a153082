//! Coins: unconsumed fungible states that our keys can spend.

use ledger::{StateAndRef, StateRef};

/// The sort key of a coin among the coins of its token. Views list coins from the greatest position downwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CoinPosition {
    /// Value in minor units.
    pub quantity: u64,
    /// The ledger sequence of the transaction that produced it.
    pub seq: u64,
    /// Its index among that transaction's outputs.
    pub index: u32,
}

/// An unconsumed coin as a view hands it over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoinRow {
    /// The state.
    pub coin: StateAndRef,
    /// Value in minor units.
    pub quantity: u64,
    /// The ledger sequence of the transaction that produced it.
    pub seq: u64,
}

impl CoinRow {
    /// Memory in addition to the state's data: the row itself, its index entries, and its small
    /// strings.
    const OVERHEAD_BYTES: usize = 640;

    /// Returns the coin's position among the coins of its token.
    pub fn position(&self) -> CoinPosition {
        CoinPosition {
            quantity: self.quantity,
            seq: self.seq,
            index: self.coin.reference.index,
        }
    }

    /// Returns the state's reference.
    pub fn reference(&self) -> StateRef {
        self.coin.reference
    }

    /// Estimates the memory that the row takes.
    pub(crate) fn weight_bytes(&self) -> usize {
        Self::OVERHEAD_BYTES + self.coin.state.data.len()
    }
}
