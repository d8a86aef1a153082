//! The vault's view: a SQLite database of the node's states, fed in the order of the ledger's sequence.
//!
//! The view holds no data that the ledger lacks. It may be dropped, and is then filled again from the first transaction.
//! Changes and the cursor (the sequence of the last change) are one SQLite transaction, so after any crash the view shows an
//! earlier point of the ledger, never a wrong one. Operators may open the file read-only with other tools: the SQL view `states`
//! is made for them.

mod compile;
mod connection;
mod datum;
mod dictionary;
mod failure;
mod feed;
mod groups;
mod held;
mod narrow;
mod numbers;
mod plan;
mod progress;
mod query;
mod reader;
mod rows;
mod schema;
mod search;
mod values;
mod writer;

pub use failure::{ERRORS, ViewError};
pub use held::contracts_held;
pub use progress::ViewProgress;
pub use query::{
    Count, Criterion, Field, Group, Places, QUERY_COUNT_MAX, QUERY_DEPTH_MAX, QUERY_GROUPS_MAX,
    QUERY_NODES_MAX, QUERY_PAGE_MAX, QUERY_SORTS_MAX, QUERY_VALUES_MAX, QueryError, QueryPage,
    Sort, StateQuery,
};
pub use reader::{CoinCursor, VaultReader};
pub use rows::{
    Balance, ColumnKind, ConsumedState, Datum, ProducedState, QuarantinedState, StateFilter,
    StateRow, TokenFacts, ViewChange, ViewColumn,
};
pub use writer::{VaultView, ViewOptions};
