//! Accounts and balances.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::QuantityText;

/// A balance on one chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChainBalance {
    /// The chain.
    pub chain: u8,
    /// The balance in minor units, by the blocks up to the tip.
    #[serde(with = "QuantityText")]
    pub balance: u64,
}

/// An account's balances.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AccountBalances {
    /// The account.
    pub account: String,
    /// Balances on every chain of the network, in order. They are zero for an account that was never paid.
    pub balances: Vec<ChainBalance>,
}

/// Balances of several accounts, all at the same height.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BalancesView {
    /// The height of the balances.
    pub height: u32,
    /// The accounts, in the order asked for.
    pub accounts: Vec<AccountBalances>,
}

/// The stake of an account in forging.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ForgingBalance {
    /// Whole parent tokens that count for the next block, including leases to the account.
    #[serde(with = "QuantityText")]
    pub effective_tokens: u64,
}

/// An account's lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeaseView {
    /// The lessee.
    pub lessee: String,
    /// The first block of the lease.
    pub from: u32,
    /// The end of the lease: the first block after it.
    pub to: u32,
}

/// An account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AccountView {
    /// The account.
    pub account: String,
    /// The height of the following fields.
    pub height: u32,
    /// Balances on every chain of the network, in order.
    pub balances: Vec<ChainBalance>,
    /// Its stake in forging.
    pub forging: ForgingBalance,
    /// Its leases to others, the current and the next one.
    pub leases: Vec<LeaseView>,
    /// The accounts whose current or next lease is to this one.
    pub lessors: Vec<String>,
}
