//! The results of a run of the laboratory: the one document behind every report, table and comparison, and its JSON.

mod block_totals;
mod chain;
mod fault;
mod missing_readings;
mod model;
mod percentile;
mod samples;
mod store_sizes;

pub use block_totals::BlockTotals;
pub use chain::{BlockRange, ChainNode, ChainResult, DiskLook, FillRow, Fullest};
pub use fault::Fault;
pub use missing_readings::MissingReadings;
pub use model::{
    AuditResult, CASES_JOINED, CONDITIONS, CaseResult, Distance, Estimate, FileLimits, Finding,
    Generator, Limits, Machine, MetricSeries, Point, Process, ProcessSample, Published, Report,
    SCHEMA, Scenario, Second, Stretch, Summary, Trial, UnitResult, WorkResult, is_database,
    is_link, is_load,
};
pub use percentile::{LATENCY_PERCENTILES, Support, TO_BLOCK_PERCENTILES, samples_needed};
pub use samples::Histogram;
pub use store_sizes::StoreSizes;
