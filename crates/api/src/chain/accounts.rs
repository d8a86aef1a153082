//! Accounts and balances.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A balance on one chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChainBalance {
    /// The chain.
    pub chain: u8,
    /// How much, in minor units, by the blocks up to the tip.
    pub balance: u64,
}

/// An account's balances.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AccountBalances {
    /// The account.
    pub account: String,
    /// On every chain of the network, in their order; an account that nobody has paid has zeroes.
    pub balances: Vec<ChainBalance>,
}

/// Balances of several accounts, all at the same height.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BalancesView {
    /// The height they are of.
    pub height: u32,
    /// In the order asked for.
    pub accounts: Vec<AccountBalances>,
}

/// What an account may forge with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ForgingBalance {
    /// Whole parent tokens that count for the next block, leases to it included.
    pub effective_tokens: u64,
}

/// An account's lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeaseView {
    /// To whom.
    pub lessee: String,
    /// The first block in which it counts.
    pub from: u32,
    /// The first block in which it no longer does.
    pub to: u32,
}

/// An account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AccountView {
    /// The account.
    pub account: String,
    /// The height of what follows.
    pub height: u32,
    /// On every chain of the network, in their order.
    pub balances: Vec<ChainBalance>,
    /// For forging.
    pub forging: ForgingBalance,
    /// What it has leased out, now and next.
    pub leases: Vec<LeaseView>,
    /// Who has leased to it, now or next.
    pub lessors: Vec<String>,
}
