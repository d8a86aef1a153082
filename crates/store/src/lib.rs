//! The only disk of the node: the embedded store behind the kernel's storage port, and the vault's SQLite view.
//!
//! - [`Embedded`]: one directory, eleven tables, atomic durable batches, reads.
//! - [`Committer`]: the one writer; groups what was queued while the last commit was syncing.
//! - [`VaultView`]: a SQLite view fed from the ledger's sequence, which can be dropped and rebuilt.
//!
//! Invariants: nothing is acknowledged before it is on disk; after one failed write or sync nothing more is accepted
//! until the store is opened again; the store never interprets a value.

mod background;
mod committer;
mod directory;
mod embedded;
mod failure;
mod log;
mod memory;
mod options;
mod priority;
mod queue;
mod shared;
mod sorted;
mod stats;
mod table;
mod view;

pub use committer::{Class, CommitHandle, Committer, CommitterOptions};
pub use embedded::{BlockCacheFigures, Embedded, WriteTimes};
pub use failure::{ERRORS, OpenError};
pub use options::Options;
pub use stats::{CommitStats, CommitTotals, Distribution};
pub use view::{
    Balance, CoinCursor, ColumnKind, ConsumedState, Count, Criterion, Datum, Field, Group, Places,
    ProducedState, QUERY_COUNT_MAX, QUERY_DEPTH_MAX, QUERY_GROUPS_MAX, QUERY_NODES_MAX,
    QUERY_PAGE_MAX, QUERY_SORTS_MAX, QUERY_VALUES_MAX, QueryError, QueryPage, Sort, StateFilter,
    StateQuery, StateRow, TokenFacts, VaultReader, VaultView, ViewChange, ViewColumn, ViewError,
    ViewOptions, ViewProgress, contracts_held,
};
