//! Reports: a page, JSON, CSV and tables of what a run gave; figures published elsewhere beside our own.
//!
//! Modules in reading order: [`write`] puts a report's files in a folder; `html` with `chart` is the page; `json` and `csv` are for
//! programs; `table` and `published` for terminals.

mod chart;
mod csv;
mod error;
mod files;
mod finite;
mod html;
mod json;
mod published;
mod table;
mod units;

#[cfg(test)]
mod synthetic;
#[cfg(test)]
mod tests;

pub use error::{ERRORS, ReportError};
pub use files::{HTML_NAME, write};
pub use html::html;
pub use json::{JSON_BYTES_MAX, JSON_NAME, json, parse, read};
pub use published::{ISSUE, ISSUE_AND_PAY, Published, REPEATED_PAY, STATES_PER_S};
pub use table::{Table, number};
pub use units::{Better, Metric};
