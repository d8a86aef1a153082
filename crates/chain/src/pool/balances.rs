//! The source of confirmed balances.

use crate::port::StoreFailure;
use crate::{AccountId, ChainId, MinorUnits};

/// A source of confirmed balances at the tip.
pub trait Balances {
    /// Returns the balance of an account on a chain, or zero for an unknown account.
    fn balance(&mut self, account: AccountId, chain: ChainId) -> Result<MinorUnits, StoreFailure>;
}

impl<F: FnMut(AccountId, ChainId) -> Result<MinorUnits, StoreFailure>> Balances for F {
    fn balance(&mut self, account: AccountId, chain: ChainId) -> Result<MinorUnits, StoreFailure> {
        self(account, chain)
    }
}
