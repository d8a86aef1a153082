//! The node's holdings: sums and unconsumed states. Answers wait until the vault's view shows all commits made before
//! the request.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::QuantityText;

/// The answer of `GET /v1/balances`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Balances {
    /// The ledger position that the view had reached.
    pub view_seq: u64,
    /// The sums, in order of symbol, then issuer.
    pub balances: Vec<Balance>,
}

/// The sum of one token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Balance {
    /// The token's id.
    pub token: String,
    /// The symbol, such as `GBP`.
    pub symbol: String,
    /// The issuer.
    pub issuer: String,
    /// The amount that can be spent, in minor units.
    #[schemars(with = "QuantityText")]
    pub quantity: String,
    /// The number of states in the sum.
    pub states: u64,
    /// The amount in quarantine, in states that their notary reports as consumed elsewhere: it cannot be spent, and is not in
    /// `quantity`. Absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<QuantityText>")]
    pub quarantined: Option<String>,
}

/// The answer of `GET /v1/states`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatesPage {
    /// The ledger position that the view had reached.
    pub view_seq: u64,
    /// Unconsumed states of this node, in order of recording. States in quarantine are among them only if asked for.
    pub states: Vec<StateEntry>,
    /// Give this as `after` for the next page; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

/// An unconsumed state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StateEntry {
    /// Its number in the view, which is the order of the pages.
    pub number: u64,
    /// The state in the ledger's form: the transaction id, then the index in parentheses.
    pub state_ref: String,
    /// Whether it is in quarantine: its notary reports it as consumed elsewhere, and it cannot be spent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub quarantined: bool,
    /// Its contract.
    pub contract: String,
    /// Its value, if it is fungible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fungible: Option<Fungible>,
    /// The id shared by its versions, if it is linear.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub linear_id: Option<String>,
    /// The notary's party id.
    pub notary: String,
}

/// The value of a fungible state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fungible {
    /// The token's id.
    pub token: String,
    /// The symbol, such as `GBP`.
    pub symbol: String,
    /// The issuer.
    pub issuer: String,
    /// The quantity, in minor units.
    #[serde(with = "QuantityText")]
    pub quantity: u64,
}
