//! Parameters and bodies of requests, and their errors.

use std::num::NonZeroUsize;

use api::SecretText;
use api::chain::{BodyDetail, codes};
use api::codes::BAD_PARAMETER;
use chain::state::rows::Place;
use chain::{AccountId, ChainId, Genesis, Height};
use primitives::{Hash, KeyPair, Scheme};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::Api;
use crate::chain::reads::BlockName;
use crate::http::Refusal;
use crate::http::claim::ClaimedBody;
use crate::http::routes::parameters::{from_json, parsed, whole};

/// `?before=&from=&limit=&transactions=`
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BlocksQuery {
    pub(super) before: Option<u32>,
    pub(super) from: Option<u32>,
    pub(super) limit: Option<NonZeroUsize>,
    #[serde(default)]
    pub(super) transactions: BodyDetail,
}

/// `?transactions=`
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BlockQuery {
    pub(super) transactions: Option<BodyDetail>,
}

/// `?chain=&after=&limit=` of a block's transactions
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BlockTransactionsQuery {
    pub(super) chain: Option<u8>,
    pub(super) after: Option<u32>,
    pub(super) limit: Option<NonZeroUsize>,
}

/// `?chain=&before=&limit=` of an account's transactions
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AccountTransactionsQuery {
    pub(super) chain: Option<u8>,
    pub(super) before: Option<String>,
    pub(super) limit: Option<NonZeroUsize>,
}

/// `?account=&chain=&after=&limit=` of the pool
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UnconfirmedQuery {
    pub(super) account: Option<String>,
    pub(super) chain: Option<u8>,
    pub(super) after: Option<String>,
    pub(super) limit: Option<NonZeroUsize>,
}

/// `?accounts=`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AccountsQuery {
    pub(super) accounts: String,
}

/// `?limit=`
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LimitQuery {
    pub(super) limit: Option<NonZeroUsize>,
}

/// `?after=&limit=` of evidence
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EvidenceQuery {
    pub(super) after: Option<String>,
    pub(super) limit: Option<NonZeroUsize>,
}

/// `?height=`
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HeightQuery {
    pub(super) height: Option<u32>,
}

impl Api {
    /// Maximum number of entries on a page.
    pub(super) fn limit(&self, asked: Option<NonZeroUsize>) -> usize {
        let most = self.front.options.page_max.max(1);
        // Without a wish, a page is as long as it may be.
        asked.map_or(most, NonZeroUsize::get).min(most)
    }

    /// A body as JSON of a certain shape.
    pub(super) async fn body<T: DeserializeOwned>(&self, body: ClaimedBody) -> Result<T, Refusal> {
        let (bytes, _place) = whole(body, &self.front.options).await?;
        from_json(&bytes)
    }
}

/// A segment of the path as an account.
pub(super) fn account(text: &str) -> Result<AccountId, Refusal> {
    parsed("account", text)
}

/// A segment of the path as a block's name.
pub(super) fn block_name(text: &str) -> Result<BlockName, Refusal> {
    if text.len() == 64 {
        return parsed::<Hash>("hash", text).map(BlockName::Hash);
    }
    height(text).map(BlockName::Height).ok_or_else(|| {
        let text = format!("'{text}' is neither a height nor a hash of 64 hexadecimal digits");
        Refusal::listed(&BAD_PARAMETER, text)
    })
}

/// `height-offset`.
pub(super) fn place(text: &str) -> Result<Place, Refusal> {
    let wrong = || {
        Refusal::listed(
            &BAD_PARAMETER,
            format!("`next` is '{text}'; expected the form HEIGHT-OFFSET"),
        )
    };
    let (height, offset) = text.split_once('-').ok_or_else(wrong)?;
    Ok(Place {
        height: self::height(height).ok_or_else(wrong)?,
        offset: self::height(offset).ok_or_else(wrong)?.get(),
    })
}

/// Returns a height of at most ten digits, as the description allows. A height beyond 32 bits is clipped: no block has either.
fn height(text: &str) -> Option<Height> {
    let digits = (1..=10).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    let height: u64 = text.parse().ok().filter(|_| digits)?;
    Some(Height::new(u32::try_from(height).unwrap_or(u32::MAX)))
}

/// A chain of a query.
pub(super) fn chain(number: Option<u8>) -> Option<ChainId> {
    number.map(ChainId)
}

/// The key of a passphrase that came over HTTP. On a production network it is refused: it would put the secret of an account into the hands
/// of the node's operator.
pub(super) fn passphrase_key(
    genesis: &Genesis,
    passphrase: &SecretText,
) -> Result<KeyPair, Refusal> {
    if genesis.is_test_network {
        return Ok(chain::key_of_passphrase(passphrase.expose()));
    }
    let text = format!("{} is a production network", genesis.network);
    Err(Refusal::listed(&codes::PASSPHRASE_REFUSED, text))
}

/// A secret: either a seed or a passphrase.
pub(super) fn key(
    genesis: &Genesis,
    seed: Option<&SecretText>,
    passphrase: Option<&SecretText>,
) -> Result<KeyPair, Refusal> {
    match (seed, passphrase) {
        (Some(seed), None) => primitives::hex::decode_array(seed.expose())
            .map(|seed| KeyPair::from_seed(Scheme::Ed25519, seed))
            .ok_or_else(|| {
                // The message must not repeat the value: it is a secret, even if it is wrong.
                Refusal::listed(&codes::BAD_KEY, "the seed is not 64 hexadecimal digits")
            }),
        (None, Some(passphrase)) => passphrase_key(genesis, passphrase),
        _ => Err(Refusal::listed(
            &codes::BAD_KEY,
            "give either a seed or a passphrase",
        )),
    }
}

#[cfg(test)]
mod tests {
    use chain::MinorUnits;
    use chain::genesis::{BalanceSpec, ChainSpec, GenesisSpec, ParamsOverrides};

    use super::*;

    fn genesis(owner: BalanceSpec) -> Genesis {
        let chain = ChainSpec {
            id: ChainId::PARENT,
            name: "parent".into(),
            symbol: "TLY".into(),
            decimals: 0,
        };
        let spec = GenesisSpec {
            network: "net".into(),
            time_ms: 1,
            profile: "production".into(),
            params: ParamsOverrides::default(),
            chains: vec![chain],
            balances: vec![BalanceSpec {
                amounts: [("TLY".to_owned(), MinorUnits::new(1_000_000))].into(),
                ..owner
            }],
        };
        spec.build().expect("the genesis keeps the rules")
    }

    #[test]
    fn production_network_refuses_passphrases_and_takes_seeds() {
        let owner = chain::key_of_passphrase("0");
        let account = crate::chain::account_of(&owner);
        let production = genesis(BalanceSpec {
            account: Some(account),
            ..BalanceSpec::default()
        });
        let test = genesis(BalanceSpec {
            passphrase: Some("0".into()),
            ..BalanceSpec::default()
        });
        assert_eq!(production.hash, test.hash, "only the file differs");
        let code = |genesis, seed, passphrase| {
            let taken = key(genesis, seed, passphrase);
            taken.map_or_else(|refusal| refusal.code.to_string(), |_| String::new())
        };
        let refused = "chain_api.passphrase_refused";
        let (seed, phrase) = (SecretText::from("11".repeat(32)), SecretText::from("0"));
        assert_eq!(code(&production, None, Some(&phrase)), refused);
        assert_eq!(code(&production, Some(&seed), None), "");
        assert_eq!(code(&test, None, Some(&phrase)), "");
    }
}
