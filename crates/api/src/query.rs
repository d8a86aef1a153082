//! Queries of the vault's states, including consumed ones.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::QuantityText;
use crate::vault::Fungible;

/// The body of `POST /v1/vault/query`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VaultQuery {
    /// The status of the states, in addition to the criterion.
    #[serde(default)]
    pub status: Status,
    /// Whether states in quarantine, which cannot be spent, are among the answer's states, counts and sums.
    #[serde(default, skip_serializing_if = "Quarantined::is_default")]
    pub quarantined: Quarantined,
    /// The criterion that the states must meet; absent for all.
    #[serde(default, rename = "where", skip_serializing_if = "Option::is_none")]
    pub criterion: Option<Criterion>,
    /// The order. Ties, and queries without an order, are sorted by recording. At most 4.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sort: Vec<SortBy>,
    /// The value of `next` on the previous page, of a query with the same criteria and order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Maximum number of states on a page, at most 1,000; 100 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Fields to group by. Returns counts and sums instead of states, one for each combination of these fields; if empty, one
    /// over all. At most 4.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group_by: Option<Vec<String>>,
    /// Whether to count all states that match the criterion too.
    #[serde(default)]
    pub count: bool,
    /// Whether each state reports the running flow that holds it locked. A `where` with `locked` implies it, and one with
    /// `locked_by` reports the flows that it names.
    #[serde(default)]
    pub locks: bool,
    /// Maximum time for the answer, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

/// The status of states: unconsumed, consumed or both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// States that the node owns now.
    #[default]
    Unconsumed,
    /// States that the node owned.
    Consumed,
    /// Both.
    All,
}

/// Which states are meant: those in quarantine are unconsumed, and their notary reports them as consumed elsewhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Quarantined {
    /// All but those in quarantine.
    #[default]
    Exclude,
    /// All.
    Include,
    /// Those in quarantine.
    Only,
}

impl Quarantined {
    /// Returns whether this is the default.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the word for it in requests.
    pub fn word(self) -> &'static str {
        match self {
            Quarantined::Exclude => "exclude",
            Quarantined::Include => "include",
            Quarantined::Only => "only",
        }
    }
}

impl std::str::FromStr for Quarantined {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = [
            Quarantined::Exclude,
            Quarantined::Include,
            Quarantined::Only,
        ];
        let found = all.into_iter().find(|one| one.word() == text);
        found.ok_or_else(|| format!("'{text}' is not exclude, include or only"))
    }
}

/// A criterion for states. A state that lacks a field meets no test of it, and meets the test's `not`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Criterion {
    /// All of these criteria.
    And(Vec<Criterion>),
    /// At least one of these criteria.
    Or(Vec<Criterion>),
    /// Not this criterion.
    Not(Box<Criterion>),
    /// The field has this value.
    Is(Is),
    /// The field has one of these values.
    In(In),
    /// The field lies between two values, inclusive.
    Between(Between),
    /// The field is less than this value.
    Less(Is),
    /// The field is greater than this value.
    Greater(Is),
    /// The field is text that begins with this value.
    Prefix(Is),
    /// The state has this status.
    Status(Status),
    /// Whether a running flow held the state locked at the time of the query.
    Locked(bool),
}

/// A field and a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Is {
    /// One of the fields of a query.
    pub field: String,
    /// Its value.
    pub value: Datum,
}

/// A field and values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    /// One of the fields of a query.
    pub field: String,
    /// Its values, at most 256 in the whole query.
    pub values: Vec<Datum>,
}

/// A field and its bounds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Between {
    /// `quantity`, `recorded_at_ms`, `consumed_at_ms`, `number`, or a contract's column.
    pub field: String,
    /// The minimum, inclusive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Datum>,
    /// The maximum, inclusive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Datum>,
}

/// A value: for quantities, times and numbers a number or the same as decimal text, for everything else text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Datum {
    /// A number.
    Number(u64),
    /// A name, an id in hexadecimal digits, or a number in decimal digits.
    Text(String),
}

/// A column of the order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SortBy {
    /// One of the fields of a query, except `participant`.
    pub field: String,
    /// Whether the largest value comes first. Otherwise states that lack the field come first.
    #[serde(default)]
    pub descending: bool,
}

/// The answer of `POST /v1/vault/query`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VaultAnswer {
    /// The ledger position that the view had reached, at least.
    pub view_seq: u64,
    /// The states, unless groups were asked for.
    pub states: Vec<FoundState>,
    /// Give this as `after` for the next page; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// The number of states that match the criterion on all pages, if asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<FoundCount>,
    /// The groups, if asked for, in the order of their values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<FoundGroup>,
}

/// The number of states that match a criterion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FoundCount {
    /// The number of states counted.
    pub states: u64,
    /// Whether there may be more: counting one by one stops at 50,000.
    pub more: bool,
}

/// A state that matches the query.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FoundState {
    /// Its number in the view, in order of recording.
    pub number: u64,
    /// The state in the ledger's form: the transaction id, then the index in parentheses.
    pub state_ref: String,
    /// Its contract.
    pub contract: String,
    /// Its value, if it is fungible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fungible: Option<Fungible>,
    /// The id shared by its versions, if it is linear.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub linear_id: Option<String>,
    /// Values of the columns that its contract declares, as text: numbers in decimal digits, bytes in hexadecimal digits.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub columns: BTreeMap<String, String>,
    /// The notary.
    pub notary: String,
    /// The time at which it was recorded.
    pub recorded_at_ms: u64,
    /// The time at which it was consumed, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consumed_at_ms: Option<u64>,
    /// Whether it is in quarantine: its notary reports it as consumed elsewhere, and it cannot be spent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub quarantined: bool,
    /// The flow that held the soft lock of the state when the query ran. Present only if the query asked for locks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locked_by: Option<String>,
}

/// States with the same values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FoundGroup {
    /// The values of the grouping fields as text, in order; null where a state lacks the field.
    pub key: Vec<Option<String>>,
    /// The number of states.
    pub states: u64,
    /// The sum of their quantities in minor units. Meaningful only for states of one token.
    #[schemars(with = "QuantityText")]
    pub quantity: String,
}
