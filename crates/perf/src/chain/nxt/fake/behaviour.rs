//! The behaviour of the fake.

use std::time::Duration;

use primitives::SecretText;

use crate::chain::{Chain, ChainId};

/// The behaviour of the fake, deliberate faults included. In every `*_every` field, 0 means never.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Behaviour {
    /// Chains, parent first.
    pub chains: Vec<Chain>,
    /// Passphrases of accounts with an initial balance.
    pub passphrases: Vec<SecretText>,
    /// Initial balance of each account on each chain.
    pub balance: u64,
    /// Interval between blocks. If `None`, blocks are made only on demand.
    pub block_every: Option<Duration>,
    /// Upper limit on waiting transactions.
    pub pool_max: usize,
    /// Delay of every answer to a submission.
    pub slow: Duration,
    /// Every Nth submission is refused with `errorCode` 6.
    pub refuse_every: u64,
    /// Every Nth submission is answered with a page instead of JSON.
    pub malformed_every: u64,
    /// Every Nth accepted payment is forgotten.
    pub lose_every: u64,
    /// Every Nth accepted payment is put into two blocks.
    pub double_every: u64,
    /// Amount of the parent token that each block mints for the first account.
    pub minted: u64,
    /// Upper limit on the entries of a list in an answer.
    pub records_max: usize,
    /// Whether it supports `getBalances`. Members of the family with one chain do not.
    pub has_get_balances: bool,
}

impl Default for Behaviour {
    fn default() -> Self {
        // The decimals of a scenario's default chains, with the minimum fees of the family.
        let chain = |id, name: &str, decimals, fee| Chain {
            id: ChainId(id),
            name: name.to_owned(),
            decimals,
            fee,
        };
        Self {
            chains: vec![
                chain(1, "PARENT", 8, 100_000_000),
                chain(2, "CHILD1", 8, 1_000_000),
                chain(3, "CHILD2", 4, 100),
            ],
            passphrases: (0..10).map(|number| number.to_string().into()).collect(),
            balance: 1_000_000_000_000_000,
            block_every: None,
            pool_max: 2_000,
            slow: Duration::ZERO,
            refuse_every: 0,
            malformed_every: 0,
            lose_every: 0,
            double_every: 0,
            minted: 0,
            records_max: 100,
            has_get_balances: true,
        }
    }
}
