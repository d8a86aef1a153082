//! The content of a genesis, and its checks.

use std::collections::BTreeMap;

use primitives::{Domain, Hash};

use crate::pos::{self, BaseTarget};
use crate::{AccountId, ChainId, MinorUnits, Params, Rejection, WholeTokens};

/// Maximum number of chains of a network, including the parent.
pub const CHAINS_MAX: usize = 64;
/// Maximum number of balances in a genesis.
pub const BALANCES_MAX: usize = 100_000;
/// Maximum length of the name of a network or a chain, in bytes.
pub const NAME_BYTES_MAX: usize = 64;
/// Maximum length of a token's symbol, in bytes.
pub const SYMBOL_BYTES_MAX: usize = 12;
/// Maximum number of decimals of a token.
pub const DECIMALS_MAX: u8 = 12;
/// Maximum supply of a token in minor units, so that no sum of two balances overflows.
pub const SUPPLY_MAX: MinorUnits = MinorUnits::new(u64::MAX / 2);

/// A chain of a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainInfo {
    /// Its number. The parent's is [`ChainId::PARENT`].
    pub id: ChainId,
    /// Its display name.
    pub name: String,
    /// The symbol of its token.
    pub symbol: String,
    /// Decimals of the token. A whole token has `10^decimals` minor units.
    pub decimals: u8,
    /// The total supply.
    pub supply: MinorUnits,
}

/// A checked genesis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Genesis {
    /// The hash over the fields of the genesis, which identifies the network.
    pub hash: Hash,
    /// The network's display name.
    pub network: String,
    /// Start of the network's time, in milliseconds since 1970.
    pub time_ms: u64,
    /// The parameters of the network.
    pub params: Params,
    /// The chains.
    pub chains: BTreeMap<ChainId, ChainInfo>,
    /// The initial balances, none zero.
    pub balances: BTreeMap<(AccountId, ChainId), MinorUnits>,
    /// The base target before the first block.
    pub base_target: BaseTarget,
    /// Whether the genesis file names accounts by passphrases, so that anyone can spend from them. Not part of the hash.
    pub is_test_network: bool,
}

impl Genesis {
    /// Checks and combines the parts. The supplies in `chains` are computed here.
    pub fn new(
        network: String,
        time_ms: u64,
        params: Params,
        chains: Vec<ChainInfo>,
        balances: BTreeMap<(AccountId, ChainId), MinorUnits>,
    ) -> Result<Self, Rejection> {
        text("network", &network, NAME_BYTES_MAX)?;
        params
            .check()
            .map_err(|(field, rule)| rejected("chain_genesis.params", format!("{field} {rule}")))?;
        let mut chains = checked_chains(chains)?;
        supply(&mut chains, &balances)?;
        let Some(parent) = chains.get(&ChainId::PARENT) else {
            return Err(chains_wrong(format!(
                "chain {}, the parent, is missing",
                ChainId::PARENT
            )));
        };
        let tokens = WholeTokens::new(parent.supply.get() / ten_to(parent.decimals));
        let least = params.effective_tokens_min.max(WholeTokens::new(1));
        if tokens < least {
            return Err(rejected(
                "chain_genesis.supply",
                format!("the supply is {tokens} whole parent tokens, and forging requires {least}"),
            ));
        }
        let base_target = pos::initial_base_target(&params, tokens).ok_or_else(|| {
            rejected(
                "chain_genesis.supply",
                format!(
                    "{tokens} whole parent tokens are too many for {} seconds per block; give the parent token more decimals",
                    params.block_seconds
                ),
            )
        })?;
        let mut genesis = Self {
            hash: Hash::ZERO,
            network,
            time_ms,
            params,
            chains,
            balances,
            base_target,
            is_test_network: false,
        };
        genesis.hash = Hash::of(Domain::ChainGenesis, &[&genesis.to_bytes()]);
        Ok(genesis)
    }

    /// Returns the chain with this number.
    pub fn chain(&self, id: ChainId) -> Option<&ChainInfo> {
        self.chains.get(&id)
    }

    /// Returns the minor units of a whole parent token.
    fn parent_unit(&self) -> u64 {
        self.chains
            .get(&ChainId::PARENT)
            .map_or(1, |parent| ten_to(parent.decimals))
    }

    /// Returns the whole parent tokens of a balance on the parent chain. The rest, less than a token, does not count.
    #[must_use]
    pub fn parent_tokens(&self, balance: MinorUnits) -> WholeTokens {
        WholeTokens::new(balance.get() / self.parent_unit())
    }

    /// Returns the minor units of a number of whole parent tokens. Above the supply they may exceed the 64 bits of a balance.
    #[must_use]
    pub fn parent_minor_units(&self, tokens: WholeTokens) -> u128 {
        u128::from(tokens.get()) * u128::from(self.parent_unit())
    }

    /// Returns the maximum number of transactions of all chains in one block.
    #[must_use]
    pub fn transactions_max(&self) -> usize {
        let children = (self.chains.len() - 1) as u64;
        let each = u64::from(self.params.child_transactions_max);
        // On a 32-bit machine no longer list fits into memory.
        usize::try_from(u64::from(self.params.parent_transactions_max) + children * each)
            .unwrap_or(usize::MAX)
    }
}

fn ten_to(decimals: u8) -> u64 {
    10u64.pow(u32::from(decimals.min(DECIMALS_MAX)))
}

fn checked_chains(list: Vec<ChainInfo>) -> Result<BTreeMap<ChainId, ChainInfo>, Rejection> {
    if list.len() > CHAINS_MAX {
        return Err(chains_wrong(format!("more than {CHAINS_MAX} chains")));
    }
    let mut chains = BTreeMap::<ChainId, ChainInfo>::new();
    for chain in list {
        text("name", &chain.name, NAME_BYTES_MAX)?;
        text("symbol", &chain.symbol, SYMBOL_BYTES_MAX)?;
        if chain.id < ChainId::PARENT {
            return Err(chains_wrong(
                "chain 0, expected numbers from 1 (the parent) on",
            ));
        }
        if chain.decimals > DECIMALS_MAX {
            return Err(chains_wrong(format!(
                "chain {}: {} decimals, more than {DECIMALS_MAX}",
                chain.id, chain.decimals
            )));
        }
        if chains
            .values()
            .any(|other| other.symbol == chain.symbol || other.name == chain.name)
        {
            return Err(chains_wrong(format!(
                "two chains are called {} or {}",
                chain.name, chain.symbol
            )));
        }
        let id = chain.id;
        if chains.insert(id, chain).is_some() {
            return Err(chains_wrong(format!("chain {id} occurs twice")));
        }
    }
    Ok(chains)
}

/// Computes the supply of each token.
fn supply(
    chains: &mut BTreeMap<ChainId, ChainInfo>,
    balances: &BTreeMap<(AccountId, ChainId), MinorUnits>,
) -> Result<(), Rejection> {
    if balances.len() > BALANCES_MAX {
        return Err(rejected(
            "chain_genesis.balances",
            format!("more than {BALANCES_MAX} balances"),
        ));
    }
    for chain in chains.values_mut() {
        chain.supply = MinorUnits::ZERO;
    }
    for ((account, id), balance) in balances {
        let Some(chain) = chains.get_mut(id) else {
            return Err(rejected(
                "chain_genesis.balances",
                format!("{account} has tokens of chain {id}, which does not exist"),
            ));
        };
        if balance.is_zero() {
            return Err(rejected(
                "chain_genesis.balances",
                format!("{account} has a balance of 0 on chain {id}; omit it"),
            ));
        }
        chain.supply = chain
            .supply
            .checked_add(*balance)
            .filter(|supply| *supply <= SUPPLY_MAX)
            .ok_or_else(|| {
                rejected(
                    "chain_genesis.supply",
                    format!("the supply of chain {id} exceeds {SUPPLY_MAX} minor units"),
                )
            })?;
    }
    Ok(())
}

/// Checks a name. Names appear in terminals, pages and metrics, so control characters and surrounding spaces are not allowed.
fn text(what: &str, value: &str, bytes_max: usize) -> Result<(), Rejection> {
    let plain = !value.is_empty() && value.trim() == value && !value.chars().any(char::is_control);
    if plain && value.len() <= bytes_max {
        Ok(())
    } else {
        Err(rejected(
            "chain_genesis.name",
            format!("{what} {value:?}, expected 1 to {bytes_max} bytes of plain text"),
        ))
    }
}

fn chains_wrong(detail: impl Into<String>) -> Rejection {
    rejected("chain_genesis.chains", detail)
}

pub(super) fn rejected(code: &'static str, detail: impl Into<String>) -> Rejection {
    Rejection::new(code, detail)
}
