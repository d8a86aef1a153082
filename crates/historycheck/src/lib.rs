//! An independent checker of a notary service. It reads the history that the service's clients have written, and nothing else.
//!
//! ```text
//!  clients ── HistoryWriter ──► history, one event a line ──► check ──► Verdict: counts, longest silence, violations
//! ```
//! The crate shares no code with the notary, so that a fault of the notary can't hide in the checker as well. The rules and the format are in
//! `docs/formats/notary-history.md`.
//!
//! A history that contradicts itself is an error, not a violation: it proves a fault of the clients and nothing about the service.

mod book;
mod check;
mod conflicts;
mod ending;
mod error;
mod event;
mod faults;
mod ids;
mod reader;
mod silence;
mod spending;
mod verdict;
mod writer;

pub use check::check;
pub use error::HistoryError;
pub use event::{ConflictingState, Event, EventKind};
pub use ids::{Digest, ParseIdError, StateRef};
pub use spending::{ALLOWED_REFUSALS, MINORITY_GRACE_US};
pub use verdict::{Verdict, Violation, ViolationKind};
pub use writer::HistoryWriter;
