//! Questions about the vault's states, consumed ones as well.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::vault::Fungible;

/// The body of `POST /v1/vault/query`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VaultQuery {
    /// Which states, besides the criterion.
    #[serde(default)]
    pub status: Status,
    /// Whether states in quarantine, which cannot be spent, are among the answer's states, counts and sums.
    #[serde(default, skip_serializing_if = "Quarantined::is_default")]
    pub quarantined: Quarantined,
    /// What they must meet; absent for all.
    #[serde(default, rename = "where", skip_serializing_if = "Option::is_none")]
    pub criterion: Option<Criterion>,
    /// The order; ties, and no order at all, go by recording. At most 4.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sort: Vec<SortBy>,
    /// `next` of an earlier answer to the same criteria and order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// States on a page, at most 1,000; 100 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Counts and sums instead of states, one for each combination of these fields; empty for one over all. At most 4.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group_by: Option<Vec<String>>,
    /// Whether the number of all states that meet the criterion is wanted as well.
    #[serde(default)]
    pub count: bool,
    /// Whether each state tells which running flow holds it locked. A `where` with `locked` makes it so as well, and one with
    /// `locked_by` tells of the flows that it names.
    #[serde(default)]
    pub locks: bool,
    /// How long the answer may take, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

/// Spent or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// What the node owns now.
    #[default]
    Unconsumed,
    /// What it owned.
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

/// What a state must meet. A state that lacks a field meets no test of it, and meets the test's `not`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Criterion {
    /// All of these.
    And(Vec<Criterion>),
    /// At least one of these.
    Or(Vec<Criterion>),
    /// Not this.
    Not(Box<Criterion>),
    /// The field has this value.
    Is(Is),
    /// The field has one of these values.
    In(In),
    /// The field lies between two values, both included.
    Between(Between),
    /// The field is less than this value.
    Less(Is),
    /// The field is greater than this value.
    Greater(Is),
    /// The field is text that begins with this value.
    Prefix(Is),
    /// Spent or not.
    Status(Status),
    /// Held locked by a running flow when the query was asked, or by none.
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
    /// Its values, 256 in the whole query at most.
    pub values: Vec<Datum>,
}

/// A field and its bounds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Between {
    /// `quantity`, `recorded_at_ms`, `consumed_at_ms`, `number`, or a contract's column.
    pub field: String,
    /// At least this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Datum>,
    /// At most this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Datum>,
}

/// A value: numbers for quantities and times, text for all else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Datum {
    /// A number.
    Number(u64),
    /// A name, or an id in hexadecimal digits.
    Text(String),
}

/// A column of the order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SortBy {
    /// One of the fields of a query, except `participant`.
    pub field: String,
    /// Largest first; otherwise states that lack the field come first.
    #[serde(default)]
    pub descending: bool,
}

/// The answer of `POST /v1/vault/query`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VaultAnswer {
    /// The ledger position that the view had reached at least.
    pub view_seq: u64,
    /// The states, unless groups were asked for.
    pub states: Vec<FoundState>,
    /// Give this as `after` for the next page; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// How many states meet the criterion on all pages, if asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<FoundCount>,
    /// The groups, if asked for, in the order of their values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<FoundGroup>,
}

/// How many states meet a criterion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FoundCount {
    /// So many.
    pub states: u64,
    /// There may be more: counting one by one ends at 50,000.
    pub more: bool,
}

/// A state that meets the query.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FoundState {
    /// Its number in the view, in order of recording.
    pub number: u64,
    /// As the ledger writes it: the transaction id, then the index in parentheses.
    pub state_ref: String,
    /// Its contract.
    pub contract: String,
    /// Its value, if it is fungible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fungible: Option<Fungible>,
    /// The thing it is a version of, if it is linear.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub linear_id: Option<String>,
    /// Values of the columns that its contract declares.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub columns: BTreeMap<String, Datum>,
    /// The notary.
    pub notary: String,
    /// When it was recorded.
    pub recorded_at_ms: u64,
    /// When it was consumed, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consumed_at_ms: Option<u64>,
    /// Whether it is in quarantine: its notary reports it as consumed elsewhere, and it cannot be spent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub quarantined: bool,
    /// The flow that held it locked when the query was asked; told if asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locked_by: Option<String>,
}

/// States with the same values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FoundGroup {
    /// The values of the fields grouped by, in their order; absent where a state lacks the field.
    pub key: Vec<Option<Datum>>,
    /// How many states.
    pub states: u64,
    /// The sum of their quantities in minor units, as text. Means something among states of one token.
    pub quantity: String,
}
