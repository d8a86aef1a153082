//! Reports: the results of a run as a page, JSON, CSV and tables, with figures published elsewhere for comparison.
//!
//! Modules in reading order: [`digest()`] computes what a report says beyond its measurements, around the `headline`.
//! [`write()`] puts a report's files into a folder. `html` with `chart` is the page. `json`,
//! `csv` and `jtl` are for programs. `saved` keeps a run in a small file, and `pages` makes the published pages from such files. `table`, `figures` and `units` are also used on terminals.

mod chart;
mod csv;
mod csv_chain;
mod digest;
mod error;
mod figures;
mod files;
mod finite;
mod headline;
mod html;
mod json;
mod jtl;
mod pages;
mod saved;
mod table;
mod units;

#[cfg(test)]
mod synthetic;
#[cfg(test)]
mod tests;

pub use digest::{
    ConditionRow, Conditions, Confidence, Cost, Costs, Digest, Growth, NodeCost, OfferedLoad,
    OfferedRate, Opening, RoundTrips, SpeedUp, Standing, digest,
};
pub use error::{ERRORS, ReportError};
pub use figures::{bytes, too_few_samples};
pub use files::{HTML_NAME, Parts, redraw, write, write_file};
pub use html::{comparison_html, html};
pub use json::{JSON_BYTES_MAX, JSON_NAME, json, parse, read};
pub use jtl::{JTL_BYTES_MAX, JTL_HEAD, Jtl, JtlWritten};
pub use pages::{
    ERRORS as PAGES_ERRORS, PAGES_NAME, PagesError, PublishedPages, RUNS_FOLDER, published_pages,
};
pub use saved::{ERRORS as SAVE_ERRORS, SAVED_BYTES_MAX, SaveError, SaveOptions, save};
pub use table::{Table, number};
pub use units::{Better, Metric};
