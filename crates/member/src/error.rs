//! Errors of a member.

use std::path::PathBuf;

use thiserror::Error;

/// Reasons why a member cannot take part, or gets no decision.
#[derive(Debug, Error)]
pub enum MemberError {
    /// A file of its folder cannot be read.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A file of its folder has wrong contents.
    #[error("{}: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The fault.
        reason: String,
    },
    /// The network has no notary, or not the member itself.
    #[error("the network map lists no {0}")]
    NotListed(&'static str),
    /// The connections cannot be started.
    #[error("the connections cannot be started: {0}")]
    Start(#[from] net::StartError),
    /// The system gives no thread.
    #[error("no thread for the member: {0}")]
    Thread(std::io::Error),
    /// The system has no randomness.
    #[error("the system gives no random bytes: {0}")]
    Random(getrandom::Error),
    /// The transaction cannot be built.
    #[error("the transaction cannot be built: {0}")]
    Build(#[from] ledger::BuildError),
    /// The notary refused the request itself.
    #[error("the notary refused the request: {}: {}", .0.code, .0.message)]
    Failed(ledger::Rejection),
    /// The answer does not decode.
    #[error("the notary's answer does not decode: {0}")]
    Answer(#[from] primitives::DecodeError),
    /// The member was dropped before the answer came.
    #[error("the member ended before the answer")]
    Ended,
}
