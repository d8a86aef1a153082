//! Coins: unconsumed fungible states that our keys can spend.

use ledger::{StateAndRef, StateRef};

/// Where a coin stands among the coins of its token. Views list coins from the greatest position down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CoinPosition {
    /// How much it is worth, in minor units.
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
    /// How much it is worth, in minor units.
    pub quantity: u64,
    /// The ledger sequence of the transaction that produced it.
    pub seq: u64,
}

impl CoinRow {
    /// Memory beside the state's data: the row itself, its index entries, the small strings in it.
    const OVERHEAD_BYTES: usize = 640;

    /// Where it stands among the coins of its token.
    pub fn position(&self) -> CoinPosition {
        CoinPosition {
            quantity: self.quantity,
            seq: self.seq,
            index: self.coin.reference.index,
        }
    }

    /// The state's name.
    pub fn reference(&self) -> StateRef {
        self.coin.reference
    }

    /// What it costs to keep in memory, about.
    pub(crate) fn weight_bytes(&self) -> usize {
        Self::OVERHEAD_BYTES.saturating_add(self.coin.state.data.len())
    }
}
