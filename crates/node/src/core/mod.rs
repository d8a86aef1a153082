//! A running ledger node: the kernel on the runtime, the thread of the vault's view, the connections, and the API.
//!
//! ```text
//!   clients ── http ─► runtime (mailbox ► kernel ► committer) ──► disk
//!   peers ──── net ──►             │          │
//!                                  └──────────┴─ durable ──► sends, replies, view
//! ```
//! This module decides nothing about the ledger: that is the kernel's task.

mod apps;
mod attachments;
mod clock;
mod clock_view;
mod columns;
mod consents;
mod database_moves;
mod deliveries;
mod described;
mod equivocations;
mod figures;
mod flow_history;
mod flow_starts;
mod gate;
mod history_look_ups;
mod hospital;
mod key_names;
mod ledger_core;
mod ledger_pages;
mod ledger_reads;
mod locks;
pub(crate) mod messages;
mod node_folder;
mod node_info;
mod notary_reads;
mod notary_tools;
mod opening;
mod options;
mod peers;
mod perform;
mod put_off;
mod quarantine;
mod query_interrupt;
mod questions;
mod readers;
mod rebuild;
mod recovery;
mod refusals;
mod rehearsal;
mod replies;
mod running;
mod service;
mod services;
mod shared;
mod start;
pub(crate) mod start_error;
mod storage;
mod store_care;
mod stuck;
mod uniqueness;
mod vault_changes;
mod vault_query;
mod vault_reads;
mod vault_tables;
mod view;
mod view_feed;
mod view_fill;
mod view_rows;
mod workers;

pub use apps::Apps;
pub use database_moves::{check_database, export_database, import_database, migrate_database};
pub use described::described_flows;
pub use node_folder::forget_member;
pub use notary_tools::{audit_notary, migrate_notary, notary_status};
pub use rebuild::{Rebuilt, rebuild_view};
pub(crate) use rehearsal::READ_BYTES_MAX;
pub use rehearsal::rehearse_start;
pub use running::FailedStore;
pub use start::Node;
pub use start_error::{ERRORS, StartError};
pub use store_care::{accept_store, init_store};
