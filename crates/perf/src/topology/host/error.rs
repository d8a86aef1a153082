//! Why a host does not do something.

use thiserror::Error;

pub(crate) const LOST: &str = "lab.host_lost";
pub(crate) const REFUSED: &str = "lab.host_refused";

/// Why a host does not do something.
#[derive(Debug, Error)]
pub enum HostError {
    /// A file, a folder, a port or a program is not available there.
    #[error("{}{what}: {source}", at(host))]
    System {
        /// The host, or nothing for this machine.
        host: String,
        /// The operation, or the path.
        what: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// A program that was to do something has failed.
    #[error("{}{message}", at(host))]
    Failed {
        /// The host, or nothing for this machine.
        host: String,
        /// Its standard error.
        message: String,
    },
    /// The host's agent refuses the order.
    #[error("{}{message}", at(host))]
    Refused {
        /// The host.
        host: String,
        /// The reason.
        message: String,
    },
    /// The host's agent is gone, and with it everything that ran there.
    #[error("host {host} is gone: {reason}")]
    Lost {
        /// The host.
        host: String,
        /// The last sign of it.
        reason: String,
    },
}

/// Returns the words that name a host before a message.
fn at(host: &str) -> String {
    match host {
        "" => String::new(),
        host => format!("host {host}: "),
    }
}

impl HostError {
    /// Creates an error of this machine's system.
    pub(crate) fn system(what: impl ToString, source: std::io::Error) -> Self {
        HostError::System {
            host: String::new(),
            what: what.to_string(),
            source,
        }
    }
}
