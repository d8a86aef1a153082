//! A notary's decisions: which transaction was first to consume a state, and whether it came in time.
//!
//! ```text
//!  admit(request, now) ──► queues ─► decide_batch(commit, consumed set) ──► rows to write, a verdict for each request
//!                                                                              │ once durable
//!                                                                              └─► committed(commit)
//! ```
//! Pure: the caller writes the rows, checks the signatures on requests and supplies the time. Decisions that are not durable
//! yet are remembered until [`Notary::committed`], so batches may follow each other without waiting.

mod batch;
mod budget;
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
pub use clock::Arrival;
pub use error::{AdmissionError, ERRORS};
pub use notary::{ConsumedSet, Notary, NotaryFigures};
pub use options::{NotaryKind, NotaryOptions};
pub use record::RequestRecord;
pub use request::{Request, Subject};
pub use requesters::RequesterFigures;
