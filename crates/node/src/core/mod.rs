//! The running node: the kernel's thread, the commit thread, the vault view's thread, the connections and the API.
//!
//! ```text
//!   clients ── http ──► mailbox ──► kernel thread ──► committer ──► disk
//!   peers ──── net ───►    ▲              │               │
//!                          └── Committed ─┴── sends, replies, view ◄── durable
//! ```
//! Nothing here decides anything about the ledger: that is the kernel's.

mod clock;
mod columns;
mod figures;
mod hospital;
mod ledger_reads;
mod mailbox;
mod peers;
mod replies;
mod service;
mod shared;
mod start;
mod stuck;
mod thread;
mod vault_changes;
mod vault_query;
mod view;

pub use start::{Apps, ERRORS, Node, StartError};
