//! The shell of a node: its threads, its connections, its API, its folder. It performs the kernel's actions.

pub mod bootstrap;
pub mod chain;
pub mod codes;
pub mod config;
pub mod http;
pub mod metrics;
pub mod open_files;
pub mod uploads;
pub mod users;

pub(crate) mod core;
pub(crate) mod files;
pub(crate) mod ledger_store;

pub use core::{
    Apps, FailedStore, Node, Rebuilt, StartError, accept_store, audit_notary, check_database,
    described_flows, export_database, forget_member, import_database, init_store, migrate_database,
    migrate_notary, notary_status, rebuild_view, rehearse_start,
};
pub use store::{OpenError as StoreOpenError, RehearsalFigures};

/// The codes of this crate's own errors.
pub const ERRORS: &[&[primitives::ErrorInfo]] = &[
    bootstrap::ERRORS,
    chain::ERRORS,
    config::ERRORS,
    core::ERRORS,
    files::ERRORS,
    http::ERRORS,
    open_files::ERRORS,
    users::ERRORS,
];
