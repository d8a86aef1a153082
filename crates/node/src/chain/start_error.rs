//! The errors of the start of a chain node, with the advised actions.

use std::path::PathBuf;

use chain::Rejection;
use chain::port::{FailureKind, StoreFailure};
use primitives::{Coded, ErrorInfo};
use thiserror::Error;

use crate::bootstrap::BootstrapError;
use crate::config::ConfigError;
use crate::http::{ListenError, TlsError};

/// Why a chain node does not start.
#[derive(Debug, Error)]
pub enum ChainStartError {
    /// A file of its folder.
    #[error(transparent)]
    Files(#[from] BootstrapError),
    /// Its genesis.
    #[error("{path}: {rejection}")]
    Genesis {
        /// The file.
        path: PathBuf,
        /// The fault.
        rejection: Rejection,
    },
    /// A network is where another is to be made.
    #[error("{0} already exists: a network has been made here")]
    Exists(PathBuf),
    /// A key or passphrase of its configuration.
    #[error("{field}: {message}")]
    Key {
        /// Which field.
        field: &'static str,
        /// The fault.
        message: String,
    },
    /// Its data folder can't be made.
    #[error("{path}: {source}")]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// Its store does not open.
    #[error(transparent)]
    Store(#[from] store::OpenError),
    /// The store is of another network, or the chain refuses the operation.
    #[error("{}", .0.detail)]
    Chain(Rejection),
    /// Its store can't be read.
    #[error("{0}")]
    StoreFailed(StoreFailure),
    /// Its connections to other nodes.
    #[error(transparent)]
    Gossip(#[from] net::gossip::GossipError),
    /// The API's certificate.
    #[error(transparent)]
    ApiTls(#[from] TlsError),
    /// The API's address.
    #[error(transparent)]
    ApiListen(#[from] ListenError),
    /// A token's hash in the configuration.
    #[error("api.tokens: the sha256 of user '{0}' is not 64 hexadecimal digits")]
    Token(String),
    /// The system gives no thread or no random bytes.
    #[error("{0}")]
    System(String),
}

impl From<ConfigError> for ChainStartError {
    fn from(error: ConfigError) -> Self {
        Self::Files(error.into())
    }
}

/// The codes of this module.
pub const ERRORS: &[ErrorInfo] = &[
    ErrorInfo {
        code: "chain_node.bad_key",
        cause: "A key, passphrase or checkpoint in a chain node's configuration is not valid.",
        action: "Give each forger and bundler either a key_file of 64 hexadecimal digits or a passphrase, and each checkpoint a hash.",
    },
    ErrorInfo {
        code: "chain_node.network_exists",
        cause: "A test network was to be made where one is already: another genesis would make its chain worthless.",
        action: "Give another folder with --out, run the network that is there, or remove it.",
    },
    PANICKED,
];

/// The node ended because of a bug.
pub(super) const PANICKED: ErrorInfo = ErrorInfo {
    code: "chain_node.panicked",
    cause: "The part of the node that holds the chain panicked because of a bug. The node takes no more work and ends. Its durable data is whole.",
    action: "Report it with the lines that the node logged at that time, then start the node again; if it ends again, check its store with tally chain check.",
};

impl ChainStartError {
    /// Returns whether another attempt may succeed without an operator: the disk was full, or did not answer.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Folder { .. } => true,
            Self::Store(error) => error.may_pass(),
            Self::StoreFailed(failure) => failure.kind == FailureKind::Access,
            _ => false,
        }
    }
}

/// Returns the advice about a file of a chain node's folder, if it differs from that for a node of the ledger. The ledger's hints
/// speak of parties and of NETWORK.toml, which a chain has not. A chain node's identity is only its name among its peers, and
/// owns nothing.
fn file_hint(code: &str) -> Option<&'static str> {
    let hint = match code {
        "bootstrap.missing" | "bootstrap.damaged" | "bootstrap.expired" => {
            "Restore the file from a backup. Without one make a new network's folders elsewhere with 'tally chain genesis', and copy the file of one of them."
        }
        "bootstrap.key_lost" => {
            "Restore identity.key from a backup, or write 64 random hexadecimal digits to it with mode 600: the node is then a new peer, and owns nothing less."
        }
        "bootstrap.exposed" => {
            "Set its mode with chmod 600. If others may have read it, replace it: a chain node's identity owns nothing, and forgers have keys of their own."
        }
        _ => return None,
    };
    Some(hint)
}

impl Coded for ChainStartError {
    fn code(&self) -> &'static str {
        match self {
            Self::Files(error) => error.code(),
            Self::Genesis { rejection, .. } | Self::Chain(rejection) => rejection.code,
            Self::Key { .. } => ERRORS[0].code,
            Self::Exists(_) => ERRORS[1].code,
            Self::Folder { .. } => "node.data_folder",
            Self::Store(error) => error.code(),
            Self::StoreFailed(failure) => failure.code,
            Self::Gossip(error) => error.code(),
            Self::ApiTls(error) => error.code(),
            Self::ApiListen(error) => error.code(),
            Self::Token(_) => "node.bad_token_hash",
            Self::System(_) => "node.system",
        }
    }

    fn hint(&self) -> &'static str {
        match self {
            Self::Files(error) => file_hint(error.code()).unwrap_or(error.hint()),
            Self::Genesis { rejection, .. } | Self::Chain(rejection) => {
                chain::errors::action_of(rejection.code)
            }
            Self::Key { .. } => ERRORS[0].action,
            Self::Exists(_) => ERRORS[1].action,
            // A chain node needs no backup: its peers have the blocks.
            Self::Store(store::OpenError::Corrupt { .. } | store::OpenError::Incomplete { .. }) => {
                chain::errors::action_of("chain.store_beyond_repair")
            }
            Self::Store(error) => error.hint(),
            Self::StoreFailed(failure) => failure.hint,
            Self::Gossip(error) => error.hint(),
            Self::ApiTls(error) => error.hint(),
            Self::ApiListen(error) => error.hint(),
            Self::Folder { .. } | Self::Token(_) | Self::System(_) => {
                ErrorInfo::action_of(crate::core::ERRORS, self.code())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_about_files_is_that_for_a_chain() {
        let of_files = ["missing", "damaged", "expired", "key_lost", "exposed"];
        let codes = of_files.map(|name| format!("bootstrap.{name}"));
        for info in crate::bootstrap::ERRORS {
            let hint = file_hint(info.code);
            assert_eq!(hint.is_some(), codes.contains(&info.code.to_owned()));
            let hint = hint.unwrap_or_default();
            assert!(
                !hint.contains("NETWORK.toml") && !hint.contains("party"),
                "{hint}"
            );
        }
    }
}
