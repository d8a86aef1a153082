//! Faults of a node's folder.

use std::path::PathBuf;

use primitives::{Coded, ErrorInfo};
use thiserror::Error;

use crate::config::ConfigError;
use crate::users::UsersError;

/// See the variants.
#[derive(Debug, Error)]
pub enum BootstrapError {
    /// A file can't be read or written.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// A file is missing.
    #[error("{path} is missing")]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// A secret key is not there. Another one would be another party.
    #[error("{path} is missing: the key of {owner}")]
    KeyLost {
        /// The file.
        path: PathBuf,
        /// The owner of the key.
        owner: String,
    },
    /// A certificate is out of date, or the clock is wrong.
    #[error("{path}: the certificate {message}")]
    Expired {
        /// The file.
        path: PathBuf,
        /// In words.
        message: String,
    },
    /// Something else is where a node's folder should be made.
    #[error("{path} already exists and is not a node's folder")]
    Occupied {
        /// The folder.
        path: PathBuf,
    },
    /// The content of a file is damaged.
    #[error("{path}: {message}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The fault.
        message: String,
    },
    /// A secret can be read by others.
    #[error("{path} can be read by others (mode {mode:o})")]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// The description is not that of a network.
    #[error("the network's description: {message}")]
    Description {
        /// The fault.
        message: String,
        /// The action that mends it.
        hint: &'static str,
    },
    /// A certificate or key could not be made.
    #[error("making a certificate: {0}")]
    Certificate(String),
    /// The folder belongs to another node than its configuration says.
    #[error("{path}: {message}")]
    Mismatched {
        /// The file.
        path: PathBuf,
        /// The contradiction.
        message: String,
    },
    /// A configuration.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The list of users can't be written.
    #[error(transparent)]
    Users(#[from] UsersError),
}

impl BootstrapError {
    /// Returns the fault of a description with the action that mends it.
    pub(crate) fn description(message: impl Into<String>, hint: &'static str) -> Self {
        Self::Description {
            message: message.into(),
            hint,
        }
    }
}

/// A certificate of a node has less than [`super::RENEWED_DAYS`] left.
pub(crate) const CERTIFICATE_ENDS: ErrorInfo = ErrorInfo {
    code: "bootstrap.certificate_ends",
    cause: "The TLS certificate of the node ends within 30 days. Peers and clients refuse it afterwards.",
    action: "Bootstrap the same NETWORK.toml again where the network's root is kept: it makes a new certificate. Copy tls.pem and tls.key.pem into the node's folder and restart the node.",
};

/// The network's root has less than [`super::RENEWED_DAYS`] left.
pub(crate) const ROOT_ENDS: ErrorInfo = ErrorInfo {
    code: "bootstrap.root_ends",
    cause: "The certificate of the network's root ends within 30 days. All connections of the network are refused afterwards.",
    action: "Ask the network's operator for a new root: no command renews it. Every node and client needs it in root.pem before the old one ends.",
};

/// The codes of this module.
pub const ERRORS: &[ErrorInfo] = &[
    ErrorInfo {
        code: "bootstrap.file",
        cause: "A file of a node's folder can't be read or written.",
        action: "Check the path, its permissions and the disk.",
    },
    ErrorInfo {
        code: "bootstrap.missing",
        cause: "A file of a node's folder is missing.",
        action: "Check that this is the folder of a node, and restore the file from a backup. Bootstrapping the same NETWORK.toml again makes new certificates and copies of the network's documents, never a party's key.",
    },
    ErrorInfo {
        code: "bootstrap.key_lost",
        cause: "The secret key of a party, or of the network, that exists already is missing. A new key would be another party: it could not sign for anything that the party owns, and the other nodes would not believe it.",
        action: "Restore the file from a backup. Every worker of a replicated notary has its key, and bootstrap copies it again; no command makes another key. If there is none, the party's states are lost to it: have the network's operator admit a new party under another name.",
    },
    ErrorInfo {
        code: "bootstrap.expired",
        cause: "A node's certificate is no longer valid, or not yet.",
        action: "Check the machine's clock. For a new certificate bootstrap the same NETWORK.toml again where the network's root is kept.",
    },
    CERTIFICATE_ENDS,
    ROOT_ENDS,
    ErrorInfo {
        code: "bootstrap.occupied",
        cause: "Something that is not a node's folder is where bootstrap would make one.",
        action: "Give another folder with --out, or move the existing one.",
    },
    ErrorInfo {
        code: "bootstrap.damaged",
        cause: "The content of a file of a node's folder is damaged.",
        action: "Restore the file from a backup. Only tls.pem, root.pem, network.pub and the files in network/ can be removed and made again by bootstrapping; a key never is.",
    },
    ErrorInfo {
        code: "bootstrap.exposed",
        cause: "A secret of a node can be read by other users of the machine.",
        action: "Set its mode with chmod 600. If others may have read it, replace a token or a certificate by a new one; an identity key cannot be replaced, so move what it owns to another party.",
    },
    ErrorInfo {
        code: "bootstrap.description",
        cause: "The description of the network can't be carried out.",
        action: "Correct the field that the message names; docs/reference/network.md describes each.",
    },
    ErrorInfo {
        code: "bootstrap.certificate",
        cause: "A certificate or key could not be made.",
        action: "Report this. A folder that this run made can be removed; one that was there before must stay.",
    },
    ErrorInfo {
        code: "bootstrap.mismatched",
        cause: "Files of a node's folder belong to different nodes or networks.",
        action: "Use the folder as bootstrap made it; do not mix folders.",
    },
];

impl Coded for BootstrapError {
    fn code(&self) -> &'static str {
        match self {
            BootstrapError::File { .. } => "bootstrap.file",
            BootstrapError::Missing { .. } => "bootstrap.missing",
            BootstrapError::KeyLost { .. } => "bootstrap.key_lost",
            BootstrapError::Expired { .. } => "bootstrap.expired",
            BootstrapError::Occupied { .. } => "bootstrap.occupied",
            BootstrapError::Damaged { .. } => "bootstrap.damaged",
            BootstrapError::Exposed { .. } => "bootstrap.exposed",
            BootstrapError::Description { .. } => "bootstrap.description",
            BootstrapError::Certificate(_) => "bootstrap.certificate",
            BootstrapError::Mismatched { .. } => "bootstrap.mismatched",
            BootstrapError::Config(error) => error.code(),
            BootstrapError::Users(error) => error.code(),
        }
    }

    fn hint(&self) -> &'static str {
        match self {
            BootstrapError::Description { hint, .. } => hint,
            BootstrapError::Config(error) => error.hint(),
            BootstrapError::Users(error) => error.hint(),
            _ => ErrorInfo::action_of(ERRORS, self.code()),
        }
    }
}
