//! Queries of the view: criteria as a tree, an order, a page, groups. Plain values; [`super::compile`] makes SQL.

use super::rows::{Datum, StateRow};

/// Nesting of criteria (`api.bad_query`).
pub const QUERY_DEPTH_MAX: usize = 8;
/// Tests and combinations in one query (`api.bad_query`).
pub const QUERY_NODES_MAX: usize = 64;
/// Values in one query (`api.bad_query`).
pub const QUERY_VALUES_MAX: usize = 256;
/// Columns to sort by (`api.bad_query`).
pub const QUERY_SORTS_MAX: usize = 4;
/// Groups in one answer.
pub const QUERY_GROUPS_MAX: usize = 1_000;
/// States that are counted one by one.
pub const QUERY_COUNT_MAX: u64 = 50_000;
/// States on one page.
pub const QUERY_PAGE_MAX: usize = 1_000;

/// A property of a state that a query can test, sort or group by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Field {
    /// Its contract's name.
    Contract,
    /// The owner's key, encoded.
    Owner,
    /// The party id of the owner, if it was known when the view first stored the owner's key. Queries can test it, but not sort
    /// by it.
    OwnerParty,
    /// A participant's key, encoded; a state may have several.
    Participant,
    /// The party id of a participant, known under the same condition as that of an owner. Queries can test it, but not sort by
    /// it.
    ParticipantParty,
    /// The notary's party id.
    Notary,
    /// The token's id.
    Token,
    /// The token's symbol.
    Symbol,
    /// The token's issuer, as [`super::TokenFacts::issuer`] has it.
    Issuer,
    /// The quantity in minor units.
    Quantity,
    /// When it was recorded, in ms since the Unix epoch.
    RecordedAt,
    /// When it was consumed, in ms since the Unix epoch.
    ConsumedAt,
    /// Its position in the ledger: [`StateRow::cursor`].
    Number,
    /// Its linear id, which all versions of a linear state share.
    LinearId,
    /// A column that a contract declares: its index in [`super::ViewOptions::columns`]. States of other contracts lack it.
    Column(u32),
}

/// Positions in the ledger ([`StateRow::cursor`]) that select states. Their number is not limited, and they do not count as
/// values of the query.
#[derive(Clone, PartialEq, Eq)]
pub struct Places {
    /// A name for the kind of the positions. A page mark stays valid for a query with other positions of the same kind.
    kind: String,
    /// The positions as a JSON array, for SQLite.
    json: std::sync::Arc<str>,
}

impl Places {
    /// Makes a set of positions of a kind.
    pub fn new(kind: String, places: impl IntoIterator<Item = u64>) -> Self {
        let places: Vec<String> = places.into_iter().map(|place| place.to_string()).collect();
        let json = format!("[{}]", places.join(",")).into();
        Self { kind, json }
    }

    pub(super) fn json(&self) -> &str {
        &self.json
    }
}

impl std::fmt::Debug for Places {
    /// Shows the kind only.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Places").field(&self.kind).finish()
    }
}

/// A condition on states. A state that lacks a field meets no test of that field, but it meets the `Not` of such a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Criterion {
    /// All of them hold. An empty list holds for every state.
    All(Vec<Criterion>),
    /// At least one of them holds. An empty list holds for no state.
    Any(Vec<Criterion>),
    /// It does not hold.
    Not(Box<Criterion>),
    /// Spent, or not.
    Consumed(bool),
    /// In quarantine, or not. A consumed state is never in quarantine.
    Quarantined(bool),
    /// The field has one of these values.
    In(Field, Vec<Datum>),
    /// The field is between these bounds, both included. A missing bound is not tested.
    Between(Field, Option<Datum>, Option<Datum>),
    /// The field is less than this.
    Less(Field, Datum),
    /// The field is greater than this.
    Greater(Field, Datum),
    /// The field is text that begins with this.
    Prefix(Field, String),
    /// It is at one of these positions.
    At(Places),
}

/// One column of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sort {
    /// The field of the order; states that lack it come first.
    pub by: Field,
    /// Whether the order is descending. States that lack the field then come last.
    pub descending: bool,
}

/// A query of states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateQuery {
    /// Which.
    pub criterion: Criterion,
    /// The order. Ties are ordered by the position in the ledger, which is also the order if the list is empty. A state that
    /// lacks a field comes before those that have it. An order by a contract's column lists only the states that have it.
    pub sort: Vec<Sort>,
    /// The mark from an earlier answer with the same criterion and order. The page begins after it.
    pub after: Option<String>,
    /// Maximum number of states in the page.
    pub limit: usize,
}

/// How many states meet a criterion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// The least number of states.
    pub states: u64,
    /// There may be more: counting ended at [`QUERY_COUNT_MAX`].
    pub more: bool,
}

/// A page of states.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueryPage {
    /// The states.
    pub rows: Vec<StateRow>,
    /// The mark at which the next page begins, if there is one.
    pub next: Option<String>,
}

/// States that have the same values of the fields asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The values, in the order of the fields.
    pub key: Vec<Option<Datum>>,
    /// How many states.
    pub states: u64,
    /// The sum of their quantities; means something where they are of one token.
    pub quantity: u128,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum QueryError {
    /// The question is wrong.
    #[error("{0}")]
    Bad(String),
    /// It was given up before it ended.
    #[error("the query was given up")]
    Interrupted,
    /// The view's trouble.
    #[error(transparent)]
    View(#[from] super::ViewError),
}

/// Returns the refusal of a query, with this reason.
pub(super) fn bad<T>(text: impl Into<String>) -> Result<T, QueryError> {
    Err(QueryError::Bad(text.into()))
}
