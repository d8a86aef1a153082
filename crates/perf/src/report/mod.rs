//! Reports: tables for people, figures published elsewhere beside our own.

mod published;
mod table;

pub use published::{ISSUE, ISSUE_AND_PAY, Published, REPEATED_PAY, STATES_PER_S};
pub use table::{Table, number};
