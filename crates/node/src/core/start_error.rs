//! The errors of the start of a node, with the advised actions.

use std::path::{Path, PathBuf};

use kernel::port::{FailureKind, StoreFailure};
use primitives::{Coded, ErrorInfo};
use store::FilesError;
use thiserror::Error;
use vaultview::ViewError;

use crate::bootstrap::member_file;
use crate::http::{ListenError, TlsError};
use crate::users::UsersError;

/// Why a node does not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// The data folder can't be used.
    #[error("{path}: {source}")]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The ledger's store does not open.
    #[error(transparent)]
    Store(#[from] store::OpenError),
    /// The database server can't be used.
    #[error(transparent)]
    Database(#[from] pgstore::DatabaseError),
    /// The record that the workers of a replicated notary share can't be used.
    #[error(transparent)]
    NotaryRecord(#[from] notarydb::RecordError),
    /// A command is for the workers of a replicated notary.
    #[error("this node works for no replicated notary")]
    NoWorker,
    /// The node was a notary of its own, and workers have taken its place.
    #[error("workers of a replicated notary have taken the place of this notary")]
    Replaced,
    /// The notary whose data is to be moved can't be used.
    #[error("the notary's data can't be moved: {0}")]
    OldNotary(String),
    /// The data is to be on a database server, but the folder has an embedded store.
    #[error("database.url is set, but there is an embedded store in {0}")]
    EmbeddedStore(PathBuf),
    /// The data was on a database server, but none is configured.
    #[error("database.url is not set, but {0} is the cache of a database")]
    DatabaseLeft(PathBuf),
    /// A command needs a database server.
    #[error("the node's configuration names no database")]
    NoDatabase,
    /// There is no embedded store to move.
    #[error("there is no store in {0}")]
    NothingToMove(PathBuf),
    /// A folder is where another is to be made.
    #[error("{0} is in the way")]
    InTheWay(PathBuf),
    /// The rows on the database server and those in the folder differ.
    #[error("the rows on the database server and in the node's folder differ: {0}")]
    Differs(String),
    /// A command works on the embedded store only.
    #[error(
        "the node's data is on a database server, and this command works on the embedded store"
    )]
    NotEmbedded,
    /// The folder of attachments does not open.
    #[error(transparent)]
    Files(#[from] store::FilesError),
    /// The ledger's store can't be read or written.
    #[error("{0}")]
    StoreFailed(StoreFailure),
    /// The kernel does not open.
    #[error(transparent)]
    Kernel(#[from] kernel::OpenError),
    /// The vault's view does not open.
    #[error(transparent)]
    View(#[from] vaultview::ViewError),
    /// The connections to other nodes.
    #[error(transparent)]
    Transport(#[from] net::StartError),
    /// The API's certificate.
    #[error(transparent)]
    ApiTls(#[from] TlsError),
    /// The API's address.
    #[error(transparent)]
    ApiListen(#[from] ListenError),
    /// The users of the node's folder.
    #[error(transparent)]
    Users(#[from] UsersError),
    /// A token's hash in the configuration.
    #[error("api.tokens: the sha256 of user '{0}' is not 64 hexadecimal digits")]
    Token(String),
    /// The folder's store is in use, so its view can't be rebuilt.
    #[error("{0} is in use: the node runs")]
    NodeRuns(PathBuf),
    /// The file of a member of the network is gone.
    #[error("{path} is missing: {name} was a member of the network at an earlier start")]
    MemberLost {
        /// The member's name.
        name: String,
        /// Its file.
        path: PathBuf,
    },
    /// There is no other member of this name to be forgotten.
    #[error("no other member '{0}' is remembered")]
    UnknownMember(String),
    /// Contracts or flows are incompatible with each other.
    #[error("{0}")]
    Apps(String),
    /// The system gives no thread or no random bytes.
    #[error("{0}")]
    System(String),
}

impl StartError {
    /// Returns the reason why the kernel of the node in a folder did not open.
    pub(super) fn of_kernel(error: kernel::OpenError, folder: &Path) -> Self {
        match error {
            kernel::OpenError::MemberLost { id, name } => Self::MemberLost {
                name,
                path: member_file(folder, &id),
            },
            error => Self::Kernel(error),
        }
    }

    /// Returns whether another attempt may succeed without an operator: the disk was full, or did not answer.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        let is_access = |failure: &StoreFailure| failure.kind == FailureKind::Access;
        match self {
            Self::Folder { .. } => true,
            Self::Store(error) => error.may_pass(),
            Self::Database(error) => error.may_pass(),
            Self::NotaryRecord(error) => error.may_pass(),
            Self::Files(error) => matches!(error, FilesError::Full { .. } | FilesError::Io { .. }),
            Self::StoreFailed(failure) => is_access(failure),
            Self::Kernel(kernel::OpenError::Store(failure)) => is_access(failure),
            Self::View(error) => matches!(error, ViewError::Failed { .. }),
            Self::Kernel(
                kernel::OpenError::MemberLost { .. } | kernel::OpenError::VersionsMissing(_),
            )
            | Self::Transport(_)
            | Self::ApiTls(_)
            | Self::ApiListen(_)
            | Self::Users(_)
            | Self::Token(_)
            | Self::NodeRuns(_)
            | Self::MemberLost { .. }
            | Self::UnknownMember(_)
            | Self::EmbeddedStore(_)
            | Self::DatabaseLeft(_)
            | Self::NotEmbedded
            | Self::NoDatabase
            | Self::NoWorker
            | Self::OldNotary(_)
            | Self::Replaced
            | Self::NothingToMove(_)
            | Self::InTheWay(_)
            | Self::Differs(_)
            | Self::Apps(_)
            | Self::System(_) => false,
        }
    }
}

/// The vault's view can't be asked, or does not follow the ledger.
pub(super) const VIEW_FAILED: ErrorInfo = {
    let api::ErrorInfo {
        code,
        cause,
        action,
        ..
    } = api::codes::files::VIEW_FAILED;
    ErrorInfo {
        code,
        cause,
        action,
    }
};

/// The codes of this module.
pub const ERRORS: &[ErrorInfo] = &[
    VIEW_FAILED,
    ErrorInfo {
        code: "vault.node_runs",
        cause: "The vault's view is to be rebuilt, but a node or another rebuild has the node's folder in use.",
        action: "Stop the node, rebuild, and start it again; a view that is merely behind catches up by itself.",
    },
    ErrorInfo {
        code: "node.data_folder",
        cause: "The node's data folder can't be made or used.",
        action: "Check node.data_dir in the configuration, its permissions, and the space on the disk.",
    },
    ErrorInfo {
        code: "network.unknown_member",
        cause: "A member was to be forgotten that the node does not remember, or the node itself.",
        action: "Give the member's whole name as tally network show lists it.",
    },
    ErrorInfo {
        code: "node.bad_token_hash",
        cause: "An entry of api.tokens has no proper SHA-256.",
        action: "Put the token's SHA-256 there, 64 hexadecimal digits, as sha256sum prints it.",
    },
    ErrorInfo {
        code: "database.embedded_store",
        cause: "The configuration names a database server, but the node's folder has an embedded store, whose ledger would be left behind.",
        action: "Run tally db import to move it to the server, or remove database.url to go on with the embedded store.",
    },
    ErrorInfo {
        code: "database.no_url",
        cause: "A command on the database server, or a start on standby, was asked of a node whose configuration names none.",
        action: "Set database.url in node.toml.",
    },
    ErrorInfo {
        code: "database.nothing_to_move",
        cause: "The embedded store that was to be moved to the database server isn't there.",
        action: "Check the node's folder. If the store was moved already, start the node.",
    },
    ErrorInfo {
        code: "database.in_the_way",
        cause: "A folder of an earlier move, or an embedded store, is at the place where the command makes one.",
        action: "Move it away, and keep it until the node runs well.",
    },
    ErrorInfo {
        code: "database.differs",
        cause: "The rows on the database server and those in the node's folder differ. Nothing was moved.",
        action: "Keep both, and report it: a move copies all rows before it compares them. After tally db check, restore the database from the newest backup.",
    },
    ErrorInfo {
        code: "record.no_worker",
        cause: "The command reads the record that the workers of a replicated notary share, and the node is no such worker.",
        action: "Give it the folder of a worker: a node whose description has 'service' and [notary_database].",
    },
    ErrorInfo {
        code: "record.replaced",
        cause: "The network map names workers that have this notary's name and key. It would sign without their record.",
        action: "Never start it again. Move its data with `tally notary migrate`, and keep its folder as a backup.",
    },
    ErrorInfo {
        code: "record.old_notary",
        cause: "The data of a notary can't be moved, because its folder can't be read, or it is another notary than the service of the worker.",
        action: "Give --from the folder of the notary whose legal name and key the service has.",
    },
    ErrorInfo {
        code: "database.not_configured",
        cause: "The node's data was on a database server, and the configuration names none. The node would start with an empty ledger.",
        action: "Set database.url again. To start over with an embedded store, move the folder database-cache out of the node's data folder.",
    },
    ErrorInfo {
        code: "database.not_embedded",
        cause: "A command that works on the embedded store was given for a node whose data is on a database server.",
        action: "Use the tools of the database server: pg_dump for a copy, pg_amcheck and tally db check for a check.",
    },
    ErrorInfo {
        code: "node.apps",
        cause: "Contracts or flows that were registered contradict each other.",
        action: "Register each contract's version once.",
    },
    ErrorInfo {
        code: "node.system",
        cause: "The operating system refuses a thread or random bytes.",
        action: "Check the limits of processes and memory for the node's user.",
    },
    PANICKED,
];

/// A thread of the node has panicked.
pub(crate) const PANICKED: ErrorInfo = ErrorInfo {
    code: "node.panicked",
    cause: "A part of the node panicked because of a bug. The node takes no more work and ends. Its durable data is whole.",
    action: "Report it with the lines that the node logged at that time, then start the node again; if it ends again, remove the application whose flow or contract is named there.",
};

impl Coded for StartError {
    fn code(&self) -> &'static str {
        match self {
            StartError::Folder { .. } => "node.data_folder",
            StartError::Store(error) => error.code(),
            StartError::Database(error) => error.code(),
            StartError::NotaryRecord(error) => error.code(),
            StartError::EmbeddedStore(_) => "database.embedded_store",
            StartError::DatabaseLeft(_) => "database.not_configured",
            StartError::NotEmbedded => "database.not_embedded",
            StartError::NoDatabase => "database.no_url",
            StartError::NoWorker => "record.no_worker",
            StartError::OldNotary(_) => "record.old_notary",
            StartError::Replaced => "record.replaced",
            StartError::NothingToMove(_) => "database.nothing_to_move",
            StartError::InTheWay(_) => "database.in_the_way",
            StartError::Differs(_) => "database.differs",
            StartError::Files(error) => error.code(),
            StartError::StoreFailed(failure) => failure.code,
            StartError::Kernel(error) => error.code(),
            StartError::View(error) => error.code(),
            StartError::Transport(error) => error.code(),
            StartError::ApiTls(error) => error.code(),
            StartError::ApiListen(error) => error.code(),
            StartError::Users(error) => error.code(),
            StartError::Token(_) => "node.bad_token_hash",
            StartError::NodeRuns(_) => "vault.node_runs",
            StartError::MemberLost { .. } => kernel::errors::MEMBER_LOST.code,
            StartError::UnknownMember(_) => "network.unknown_member",
            StartError::Apps(_) => "node.apps",
            StartError::System(_) => "node.system",
        }
    }

    fn hint(&self) -> &'static str {
        match self {
            StartError::Store(error) => error.hint(),
            StartError::Database(error) => error.hint(),
            StartError::NotaryRecord(error) => error.hint(),
            StartError::Files(error) => error.hint(),
            StartError::StoreFailed(failure) => failure.hint,
            StartError::Kernel(error) => error.hint(),
            StartError::View(error) => error.hint(),
            StartError::Transport(error) => error.hint(),
            StartError::ApiTls(error) => error.hint(),
            StartError::ApiListen(error) => error.hint(),
            StartError::Users(error) => error.hint(),
            StartError::MemberLost { .. } => kernel::errors::MEMBER_LOST.action,
            _ => ErrorInfo::action_of(ERRORS, self.code()),
        }
    }
}
