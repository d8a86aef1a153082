//! The laboratory: brings networks up as real processes, drives them at set load, measures, audits, reports.
//!
//! It sees a node only as its users do: through the public API, its process and its files. It never links a node's code.
//!
//! Modules in reading order: [`topology`] (the processes that run), [`load`] (the load generator), [`measure`]
//! (instruments), [`machine`] (the machine's own limits); [`workload`] (the units of load, and how to add one).

pub mod agent;
pub mod audit;
pub mod chain;
pub mod connector;
pub mod fake;
pub mod load;
pub mod machine;
pub mod measure;
pub mod monitor;
pub mod plan;
pub mod report;
pub mod results;
pub mod run;
pub mod selftest;
pub mod size;
pub mod stats;
pub mod topology;
pub mod workload;

/// The codes of the laboratory, module by module.
pub const ERRORS: &[&[primitives::ErrorInfo]] = &[
    agent::ERRORS,
    chain::ERRORS,
    connector::ERRORS,
    load::engine::ERRORS,
    plan::ERRORS,
    report::ERRORS,
    report::SAVE_ERRORS,
    report::PAGES_ERRORS,
    run::ERRORS,
    size::ERRORS,
    stats::ERRORS,
    topology::ERRORS,
    workload::ERRORS,
];
