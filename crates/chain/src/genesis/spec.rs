//! Genesis files, which operators write to start a network.

use std::collections::BTreeMap;

use primitives::{PublicKey, SecretText, hex};
use serde::{Deserialize, Serialize};

use super::document::rejected;
use super::{BALANCES_MAX, ChainInfo, Genesis, ParamsOverrides};
use crate::{AccountId, ChainId, MinorUnits, Params, Rejection, key_of_passphrase};

/// A genesis file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GenesisSpec {
    /// The network's name.
    pub network: String,
    /// Start of the network's time, in milliseconds since 1970.
    pub time_ms: u64,
    /// The profile of constants: `production` or `loadtest`.
    pub profile: String,
    /// Constants to set in place of the profile's.
    #[serde(default, skip_serializing_if = "is_default")]
    pub params: ParamsOverrides,
    /// The parent chain (number 1) and the child chains, in any order.
    pub chains: Vec<ChainSpec>,
    /// The initial balances.
    pub balances: Vec<BalanceSpec>,
}

/// A chain of a genesis file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChainSpec {
    /// Its number, 1 to 255.
    pub id: ChainId,
    /// Its name.
    pub name: String,
    /// The symbol of its token.
    pub symbol: String,
    /// Decimals of the token. A whole token has `10^decimals` minor units.
    pub decimals: u8,
}

/// The balances of one account, which is named by exactly one of `account`, `key` and `passphrase`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BalanceSpec {
    /// The account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<AccountId>,
    /// Its Ed25519 public key, as 64 hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// A passphrase that need not be secret. For test networks only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passphrase: Option<SecretText>,
    /// The amounts, by the symbol of the token.
    pub amounts: BTreeMap<String, MinorUnits>,
}

fn is_default(overrides: &ParamsOverrides) -> bool {
    *overrides == ParamsOverrides::default()
}

impl BalanceSpec {
    /// Returns the account that the entry names.
    pub fn whose(&self) -> Result<AccountId, Rejection> {
        match (&self.account, &self.key, &self.passphrase) {
            (Some(account), None, None) => Ok(*account),
            (None, Some(key), None) => hex::decode_array(key)
                .map(|key| AccountId::of_key(&key))
                .ok_or_else(|| {
                    rejected(
                        "chain_genesis.balances",
                        format!("key {key:?} is not 64 hexadecimal digits"),
                    )
                }),
            (None, None, Some(passphrase)) => {
                Ok(AccountId::of_key(&ed25519_of(passphrase.expose())))
            }
            _ => Err(rejected(
                "chain_genesis.balances",
                "a balance must name its account by exactly one of account, key and passphrase",
            )),
        }
    }
}

/// Returns the public key of a passphrase.
fn ed25519_of(passphrase: &str) -> [u8; 32] {
    match key_of_passphrase(passphrase).public() {
        PublicKey::Ed25519(key) => *key,
        // `key_of_passphrase` makes only Ed25519 keys.
        PublicKey::EcdsaP256(_) | PublicKey::Composite(_) => [0; 32],
    }
}

impl GenesisSpec {
    /// Checks the file and builds the genesis.
    pub fn build(&self) -> Result<Genesis, Rejection> {
        let profile = Params::named(&self.profile).ok_or_else(|| {
            rejected(
                "chain_genesis.params",
                format!(
                    "unknown profile {:?}, expected production or loadtest",
                    self.profile
                ),
            )
        })?;
        let chains: Vec<ChainInfo> = self.chains.iter().map(ChainSpec::info).collect();
        let mut balances = BTreeMap::new();
        for spec in &self.balances {
            let account = spec.whose()?;
            for (symbol, amount) in &spec.amounts {
                let chain = chains
                    .iter()
                    .find(|chain| chain.symbol == *symbol)
                    .ok_or_else(|| {
                        rejected(
                            "chain_genesis.balances",
                            format!("{account} has tokens {symbol}, which no chain has"),
                        )
                    })?;
                if balances.len() >= BALANCES_MAX {
                    return Err(rejected(
                        "chain_genesis.balances",
                        format!("more than {BALANCES_MAX} balances"),
                    ));
                }
                if balances.insert((account, chain.id), *amount).is_some() {
                    return Err(rejected(
                        "chain_genesis.balances",
                        format!("{account} has two balances of {symbol}"),
                    ));
                }
            }
        }
        let params = self.params.over(profile);
        let genesis = Genesis::new(self.network.clone(), self.time_ms, params, chains, balances)?;
        Ok(Genesis {
            is_test_network: self.balances.iter().any(|spec| spec.passphrase.is_some()),
            ..genesis
        })
    }
}

impl ChainSpec {
    fn info(&self) -> ChainInfo {
        ChainInfo {
            id: self.id,
            name: self.name.clone(),
            symbol: self.symbol.clone(),
            decimals: self.decimals,
            supply: MinorUnits::ZERO,
        }
    }
}

/// Returns a test network with only the parent chain and one account.
#[cfg(test)]
pub(crate) fn small_genesis() -> Genesis {
    let balance = BalanceSpec {
        passphrase: Some("1".into()),
        amounts: [("TALLY".to_owned(), MinorUnits::new(10_000_000_000))].into(),
        ..BalanceSpec::default()
    };
    let spec = GenesisSpec {
        network: "small".into(),
        time_ms: 1_750_000_000_000,
        profile: "loadtest".into(),
        params: ParamsOverrides::default(),
        chains: vec![ChainSpec {
            id: ChainId::PARENT,
            name: "parent".into(),
            symbol: "TALLY".into(),
            decimals: 4,
        }],
        balances: vec![balance],
    };
    spec.build().expect("the genesis keeps its own rules")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_hides_the_passphrase() {
        let spec = BalanceSpec {
            passphrase: Some("swordfish".into()),
            ..BalanceSpec::default()
        };
        for shown in [format!("{spec:?}"), format!("{spec:#?}")] {
            assert!(!shown.contains("swordfish"), "{shown}");
        }
    }
}
