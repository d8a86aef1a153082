//! A PostgreSQL server as the place where a node keeps its commits. The embedded store is then a cache of the server, and may be lost.
//!
//! ```text
//! committer ──► commits (one statement each, several in flight) ──► confirmed ──► cache ──► completions
//!                                                                      │ once a second
//!                                                                      ▼
//!                                       rows (the present rows), after which older commits are deleted
//! ```
//!
//! Decision 0013 gives the reasons, `docs/formats/database.md` the schema.
//!
//! - [`open`] connects, takes the lease of the node's schema, and brings the cache up to date.
//! - [`Database::write_vault_tables`] fills relational tables for SQL users in the background.
//! - [`Database`] is the running connection. Its lease has a fencing token, which every statement that writes compares: a process that
//!   lost the lease changes nothing.
//!
//! Invariants: every commit and every part of a fold is one statement, so its outcome is never partial; after a lost connection the server's head tells which commits it
//! has; nothing is deleted before the present rows include it.

mod cache;
mod changes;
mod commits;
mod database;
mod error;
mod fold;
mod lease;
mod moving;
mod row_pages;
mod schema;
mod session;
mod settings;
mod state;
mod stats;
mod vault_batch;
mod vault_schema;
mod vault_values;
mod vault_writer;

pub use database::{Database, Opened, open};
pub use error::{DatabaseError, ERRORS};
pub use moving::{close, difference, for_each_row, import, migrate};
pub use session::{connect, within};
pub use settings::{Settings, Target, check_schema_name, url_has_password};
pub use stats::DatabaseFigures;
pub use vault_batch::{
    ConsumedVaultState, VaultBatch, VaultSource, VaultState, VaultToken, VaultTransaction,
};
