//! The record of consumed states that several workers of one notary share: in a MariaDB Galera cluster, or in PostgreSQL with synchronous
//! standbys.
//!
//! ```text
//!  question with entries ──► one statement or transaction enters all of them ──► done
//!                                  │ a key is there already          │ deadlock, or refused by the cluster
//!                                  ▼                                 ▼
//!                      look up what exists, leave those out      pause, again
//! ```
//!
//! Invariants:
//! - A state has one row, whose key is the state. So no two transactions consume it.
//! - The entries of a question are entered all at once. After a lost connection the worker reads back whether they were.
//! - An answer is given only after the database has confirmed the commit, or after the rows were read back.

mod audit;
mod blocking;
mod error;
mod figures;
mod maria;
mod postgres;
mod session;
mod settings;
mod shared;

pub use audit::{Audit, Findings, audit};
pub use error::{ERRORS, RecordError};
pub use figures::RecordFigures;
pub use settings::{Engine, Settings, check_url};
pub use shared::{RecordMeter, SharedRecord, open};
