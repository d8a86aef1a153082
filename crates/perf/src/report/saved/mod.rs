//! Saved run files: a scenario of a report, small enough to be kept in a repository. Such a file is a report itself, so
//! `tally lab report` and `tally lab compare` read it. It has every repeat with its figures, and neither readings over time nor
//! anything that names a machine's owner.

mod error;
mod file;
mod fitness;
mod layout;
mod private;
mod reduce;
#[cfg(test)]
mod tests;
mod thin;

pub use error::{ERRORS, SaveError};
pub use file::{SAVED_BYTES_MAX, SaveOptions, read, save};
pub use fitness::{RepeatSize, RepeatSizes, shortfall};
