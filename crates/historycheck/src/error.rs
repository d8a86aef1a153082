//! Faults of a history.

use thiserror::Error;

use crate::ids::Digest;

/// Why a history can't be checked. Lines count from 1.
#[derive(Debug, Error)]
pub enum HistoryError {
    /// The history can't be read.
    #[error("cannot read the history: {0}")]
    Read(#[from] std::io::Error),
    /// The last line is incomplete.
    #[error("line {line} ends in the middle: the run was cut off while it wrote this line")]
    Truncated {
        /// The line.
        line: u64,
    },
    /// The last event is not `end`.
    #[error("the history stops after line {line} without the event 'end': the run did not finish")]
    Unfinished {
        /// The last line.
        line: u64,
    },
    /// A line is no event.
    #[error("line {line} is no event: {reason}")]
    Malformed {
        /// The line.
        line: u64,
        /// The reason, from the JSON reader.
        reason: String,
    },
    /// An event is earlier than the one before it.
    #[error(
        "line {line} is at {at_us} us, and the line before it at {before_us} us: expected ascending times"
    )]
    Unordered {
        /// The line.
        line: u64,
        /// Its time in microseconds.
        at_us: u64,
        /// The time of the line before it, in microseconds.
        before_us: u64,
    },
    /// An event is not allowed at its place.
    #[error("line {line}: {reason}")]
    Misplaced {
        /// The line.
        line: u64,
        /// The rule that the event breaks.
        reason: &'static str,
    },
    /// Two requests have the same client and number.
    #[error("line {line}: client {client} has two requests with the number {request}")]
    RepeatedRequest {
        /// The line of the second one.
        line: u64,
        /// The client.
        client: u64,
        /// The number of the requests.
        request: u64,
    },
    /// An answer belongs to no request.
    #[error("line {line}: client {client} has made no request {request}")]
    UnknownRequest {
        /// The line of the answer.
        line: u64,
        /// The client.
        client: u64,
        /// The number that the answer names.
        request: u64,
    },
    /// A request has two answers.
    #[error("line {line}: request {request} of client {client} has an answer already")]
    AnsweredTwice {
        /// The line of the second answer.
        line: u64,
        /// The client.
        client: u64,
        /// The number of the request.
        request: u64,
    },
    /// A request has neither an answer nor the event `unanswered`.
    #[error("request {request} of client {client} (line {line}) has no outcome at the end")]
    NoOutcome {
        /// The line of the request.
        line: u64,
        /// The client.
        client: u64,
        /// The number of the request.
        request: u64,
    },
    /// A transaction has other states or another hash than before, or its hash is that of another transaction.
    #[error("line {line}: transaction {transaction} or its hash contradicts an earlier line")]
    Contradiction {
        /// The line of the later request.
        line: u64,
        /// The transaction.
        transaction: Digest,
    },
}
