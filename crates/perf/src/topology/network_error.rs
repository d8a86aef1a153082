//! Why a network cannot run.

use client::ClientError;
use thiserror::Error;

use super::host::HostError;
use super::process::ProcessError;

/// Why a network cannot run.
#[derive(Debug, Error)]
pub enum NetworkError {
    /// A file or a port is not available.
    #[error("{what}: {source}")]
    System {
        /// The operation.
        what: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// The command that makes the folders failed, or they are gone.
    #[error("the network's folders could not be made: {0}")]
    Bootstrap(String),
    /// A setting of a node, or a configuration file, is invalid.
    #[error("{name}: {message}")]
    Setting {
        /// The setting, or the file.
        name: String,
        /// The error.
        message: String,
    },
    /// The database server of the nodes failed.
    #[error(transparent)]
    Database(#[from] pgserver::ServerError),
    /// A host did not do something.
    #[error(transparent)]
    Host(#[from] HostError),
    /// A process failed.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// A client failed.
    #[error("{} ({})", .0, .0.hint())]
    Client(#[from] ClientError),
}

/// Creates an error of the system about `what`.
pub(super) fn system(what: &str, source: std::io::Error) -> NetworkError {
    NetworkError::System {
        what: what.to_owned(),
        source,
    }
}
