//! The source of confirmed balances.

use crate::port::StoreFailure;
use crate::{AccountId, ChainId};

/// A source of confirmed balances at the tip.
pub trait Balances {
    /// Returns the balance in minor units, or 0 for an unknown account.
    fn balance(&mut self, account: AccountId, chain: ChainId) -> Result<u64, StoreFailure>;
}

impl<F: FnMut(AccountId, ChainId) -> Result<u64, StoreFailure>> Balances for F {
    fn balance(&mut self, account: AccountId, chain: ChainId) -> Result<u64, StoreFailure> {
        self(account, chain)
    }
}
