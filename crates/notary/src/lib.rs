//! A notary's decisions: which transaction was first to consume a state, and whether it came in time.
//!
//! ```text
//!  admit(request, now) ──► queues ─► ask() ──► the store is read ──► decide(answer) ──► rows to write, verdicts
//!                                                                                         │ once durable
//!                                                                                         └─► committed(commit)
//! ```
//! Pure: the caller reads and writes the rows, checks the signatures on requests and supplies the time. The engine remembers the
//! decisions that are not durable yet, so the next batch may be decided before the last one is durable.

mod batch;
mod batch_size;
mod budget;
mod check;
mod clock;
mod error;
mod notary;
mod options;
mod overlay;
mod rate;
mod record;
mod request;
mod requesters;

pub use batch::{BatchDecision, Verdict};
pub use check::{Entry, UniquenessAnswer, UniquenessCheck, UniquenessOutcome, UniquenessRecord};
pub use clock::{Arrival, DECISION_MS_MAX, GIVE_UP_MS_MAX, LAST_ENTRY_MS_MAX};
pub use error::{AdmissionError, ERRORS};
pub use notary::{Notary, NotaryFigures};
pub use options::{NotaryKind, NotaryOptions};
pub use record::RequestRecord;
pub use request::{Request, Subject};
pub use requesters::RequesterFigures;
