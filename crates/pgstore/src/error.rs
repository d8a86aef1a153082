//! The errors of the database, as stable codes.

use primitives::storage::{FailureKind, StoreFailure};
use primitives::{Coded, ErrorInfo};
use thiserror::Error;
use tokio_postgres::error::SqlState;

/// Why the database cannot be used.
#[derive(Debug, Error)]
pub enum DatabaseError {
    /// A setting is invalid, or a file that it names cannot be read.
    #[error("{0}")]
    Settings(String),
    /// The server is on another machine, and the connection would not be encrypted.
    #[error("the database on {0} would be reached without TLS")]
    PlainRefused(String),
    /// There is no connection, or it was lost.
    #[error("the database {database} cannot be reached: {reason}")]
    Unreachable {
        /// Addresses and database.
        database: String,
        /// The cause.
        reason: String,
    },
    /// The server refuses user or password.
    #[error("the database {database} refuses the log-in: {reason}")]
    LogIn {
        /// Addresses and database.
        database: String,
        /// The server's message.
        reason: String,
    },
    /// The server has no such database.
    #[error("the database does not exist: {0}")]
    NoDatabase(String),
    /// The user lacks a privilege.
    #[error("the database refuses a statement: {0}")]
    Privilege(String),
    /// A newer program has written the schema.
    #[error("the schema {schema} has version {found}, this program knows {known}")]
    NewerSchema {
        /// The schema.
        schema: String,
        /// Its version.
        found: i32,
        /// The newest version that this program knows.
        known: i32,
    },
    /// The server would lose commits when it crashes.
    #[error(
        "the database server has the setting {0}, so it would lose confirmed commits in a crash"
    )]
    NotDurable(String),
    /// The server has no room on its disk.
    #[error("the database server has no space: {0}")]
    Full(String),
    /// The server ends the connection or takes no new one, but may do so soon.
    #[error("the database server is not ready: {0}")]
    NotReady(String),
    /// Another error of the server.
    #[error("the database server reports an error: {0}")]
    Server(String),
    /// Another process holds the lease.
    #[error("the schema {schema} is in use by {holder}")]
    Held {
        /// The schema.
        schema: String,
        /// The process.
        holder: String,
    },
    /// Another process has taken the lease.
    #[error("another process has taken over the schema {schema}: {holder}")]
    Deposed {
        /// The schema.
        schema: String,
        /// The process.
        holder: String,
    },
    /// The lease ended, and another process waits for it.
    #[error(
        "the lease of the schema {schema} was not renewed in time, and another process waits for it"
    )]
    LeaseEnded {
        /// The schema.
        schema: String,
    },
    /// The server has fewer commits than were confirmed before.
    #[error("the schema {schema} ends at commit {server}, but commit {known} was confirmed")]
    Restored {
        /// The schema.
        schema: String,
        /// The last commit on the server.
        server: u64,
        /// The last commit that was confirmed.
        known: u64,
    },
    /// The schema belongs to another node.
    #[error("the schema {schema} belongs to another node")]
    ForeignSchema {
        /// The schema.
        schema: String,
    },
    /// The data was moved to a node's folder.
    #[error("the data of the schema {schema} was moved to a node's folder")]
    Moved {
        /// The schema.
        schema: String,
        /// Names the move.
        fence: i64,
    },
    /// A store was to be moved to a schema that is in use.
    #[error("the schema {schema} has data already")]
    NotEmpty {
        /// The schema.
        schema: String,
    },
    /// A store was to be moved to the schema, and that is not complete.
    #[error("a store is being moved to the schema {schema}, or that was cut short")]
    ImportCutShort {
        /// The schema.
        schema: String,
    },
    /// The cache was made of another database.
    #[error("the cache in {0} belongs to another database")]
    ForeignCache(std::path::PathBuf),
    /// Rows that cannot be read, or a cache that cannot be written.
    #[error("{}", .0.message)]
    Store(StoreFailure),
    /// The cache cannot be opened.
    #[error(transparent)]
    Cache(#[from] store::OpenError),
    /// The system refuses a thread or a random number.
    #[error("{0}")]
    System(String),
    /// The database was closed.
    #[error("the database was closed")]
    Closed,
}

/// The codes of the database.
pub const ERRORS: &[ErrorInfo] = &[
    ErrorInfo {
        code: "database.settings",
        cause: "A setting in the section `database` is invalid, or a file that it names can't be read.",
        action: "Correct the setting that the message names.",
    },
    ErrorInfo {
        code: "database.plain",
        cause: "The database server is on another machine and no certificate is configured, so data and password would cross the network in the clear.",
        action: "Put the certificate of the server's authority into a file, and name it in database.ca.",
    },
    ErrorInfo {
        code: "database.unreachable",
        cause: "The database server doesn't answer, has no TLS or a certificate that isn't accepted, or the connection was lost for longer than database.give_up_s.",
        action: "Check that the server runs and that host, port and database.ca are right, then start the node again. Every confirmed commit is kept.",
    },
    ErrorInfo {
        code: "database.log_in",
        cause: "The database server refuses the user or the password.",
        action: "Check the user in database.url, the password, and the server's pg_hba.conf.",
    },
    ErrorInfo {
        code: "database.missing",
        cause: "The server has no database of the name in database.url.",
        action: "Create it (CREATE DATABASE name OWNER user), or correct database.url.",
    },
    ErrorInfo {
        code: "database.privilege",
        cause: "The user lacks a privilege in the database or in the node's schema.",
        action: "Grant it: GRANT CREATE ON DATABASE name TO user lets the node make its schema, and a schema that exists must belong to the user.",
    },
    ErrorInfo {
        code: "database.newer_schema",
        cause: "A newer version of this program has written the node's schema.",
        action: "Run the newer version again. A schema can't be converted to an older version.",
    },
    ErrorInfo {
        code: "database.not_durable",
        cause: "The server's settings let it lose confirmed commits in a crash.",
        action: "Set fsync = on and full_page_writes = on in postgresql.conf, and restart the server.",
    },
    ErrorInfo {
        code: "database.full",
        cause: "The database server's disk is full. The commit was not done.",
        action: "Free space on the server's disk. The node repeats the commit for database.give_up_s; after that, start it again. Every confirmed commit is kept.",
    },
    ErrorInfo {
        code: "database.not_ready",
        cause: "The server starts, stops, recovers or has no connection left, and did not become ready within database.give_up_s.",
        action: "Wait until the server accepts connections (pg_isready), raise max_connections if it has none left, and start the node again.",
    },
    ErrorInfo {
        code: "database.server_error",
        cause: "The server answered with an error that this program doesn't expect.",
        action: "Look the message up in the server's log and in PostgreSQL's manual. Every confirmed commit is kept.",
    },
    ErrorInfo {
        code: "database.held",
        cause: "Another process of this node holds the lease of the schema.",
        action: "Let the other process run, or stop it. If it is dead, the lease ends after database.lease_s.",
    },
    ErrorInfo {
        code: "database.deposed",
        cause: "Another process has taken over the node's schema, because this one did not renew its lease in time. Nothing that this process did after that was written.",
        action: "Let the other process run. If both belong to different nodes, give each a schema of its own in database.schema.",
    },
    ErrorInfo {
        code: "database.lease_ended",
        cause: "This process could not renew the lease of the node's schema within database.lease_s, because the server did not answer or the process was stopped. Another process waits for the lease, so this one has ended.",
        action: "Let the other process take over. Start this one again with --standby, and check its connection to the database server.",
    },
    ErrorInfo {
        code: "database.restored",
        cause: "The database ends before a commit that it had confirmed: an older backup was restored, or a standby without all commits took over.",
        action: "Restore the newest backup or promote the standby that has all commits. To go on with the older data knowingly, move the folder database-cache out of the node's data folder; peers may then report a rollback.",
    },
    ErrorInfo {
        code: "database.foreign_schema",
        cause: "The schema was made by a node with another legal name.",
        action: "Give each node a schema of its own: correct database.schema.",
    },
    ErrorInfo {
        code: "database.moved",
        cause: "tally db export has moved the data of the schema to a node's folder, where the ledger goes on. A second node on this schema would repeat its numbers and spend its states again.",
        action: "Start the node on the folder to which the data was moved, without database.url. To use a database again, move the data to an empty schema with tally db import.",
    },
    ErrorInfo {
        code: "database.schema_not_empty",
        cause: "A store was to be moved to a schema that a node has used.",
        action: "Name an empty schema in database.schema.",
    },
    ErrorInfo {
        code: "database.import_cut_short",
        cause: "tally db import fills the schema, or was cut short.",
        action: "Wait until it has ended, or run it again.",
    },
    ErrorInfo {
        code: "database.foreign_cache",
        cause: "The cache in the node's data folder was made of another database or schema.",
        action: "Correct database.url and database.schema. To use the other database knowingly, move the folder database-cache out of the node's data folder.",
    },
    ErrorInfo {
        code: "database.system",
        cause: "The operating system refuses a thread or random bytes.",
        action: "Check the limits of processes and memory for the node's user.",
    },
    ErrorInfo {
        code: "database.closed",
        cause: "The connection to the database was closed while a commit waited, because the node stops.",
        action: "Start the node again.",
    },
];

impl DatabaseError {
    /// Sorts an error of the client library.
    #[must_use]
    pub fn of(error: &tokio_postgres::Error, database: &str) -> Self {
        let database = database.to_owned();
        let Some(answer) = error.as_db_error() else {
            let reason = chain(error);
            // The library tells a server without TLS from other faults in its text alone.
            let has_no_tls = reason.starts_with("error performing TLS handshake");
            return match error.is_closed() || has_io_error(error) || has_no_tls {
                true => Self::Unreachable { database, reason },
                false => Self::Server(reason),
            };
        };
        let state = answer.code();
        let reason = format!("{} (SQLSTATE {})", answer.message(), state.code());
        if [
            &SqlState::INVALID_PASSWORD,
            &SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
        ]
        .contains(&state)
        {
            return Self::LogIn { database, reason };
        }
        match *state {
            SqlState::INVALID_CATALOG_NAME => Self::NoDatabase(reason),
            SqlState::INSUFFICIENT_PRIVILEGE => Self::Privilege(reason),
            SqlState::DISK_FULL => Self::Full(reason),
            _ => match &state.code()[..2] {
                // Connection exceptions, rollbacks, missing resources, the operator's interventions and system errors.
                "08" | "40" | "53" | "57" | "58" => Self::NotReady(reason),
                // A standby before it takes over.
                _ if *state == SqlState::READ_ONLY_SQL_TRANSACTION => Self::NotReady(reason),
                _ if *state == SqlState::LOCK_NOT_AVAILABLE => Self::NotReady(reason),
                _ => Self::Server(reason),
            },
        }
    }

    /// Returns whether the same statement may succeed later without an operator's change to the settings.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::NotReady(_) | Self::Full(_) | Self::Held { .. } => {
                true
            }
            Self::Cache(error) => error.may_pass(),
            _ => false,
        }
    }

    /// Returns the failure of refused commits.
    pub(crate) fn to_failure(&self) -> StoreFailure {
        if let Self::Store(failure) = self {
            return failure.clone();
        }
        StoreFailure {
            kind: match self {
                Self::Deposed { .. } | Self::LeaseEnded { .. } => FailureKind::Superseded,
                _ => FailureKind::Access,
            },
            code: self.code(),
            message: self.to_string(),
            hint: self.hint(),
        }
    }
}

fn has_io_error(error: &dyn std::error::Error) -> bool {
    let mut cause = error.source();
    while let Some(error) = cause {
        if error.is::<std::io::Error>() {
            return true;
        }
        cause = error.source();
    }
    false
}

/// Returns an error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

impl Coded for DatabaseError {
    fn code(&self) -> &'static str {
        match self {
            Self::Settings(_) => "database.settings",
            Self::PlainRefused(_) => "database.plain",
            Self::Unreachable { .. } => "database.unreachable",
            Self::LogIn { .. } => "database.log_in",
            Self::NoDatabase(_) => "database.missing",
            Self::Privilege(_) => "database.privilege",
            Self::NewerSchema { .. } => "database.newer_schema",
            Self::NotDurable(_) => "database.not_durable",
            Self::Full(_) => "database.full",
            Self::NotReady(_) => "database.not_ready",
            Self::Server(_) => "database.server_error",
            Self::Held { .. } => "database.held",
            Self::Deposed { .. } => "database.deposed",
            Self::LeaseEnded { .. } => "database.lease_ended",
            Self::Restored { .. } => "database.restored",
            Self::ForeignSchema { .. } => "database.foreign_schema",
            Self::Moved { .. } => "database.moved",
            Self::NotEmpty { .. } => "database.schema_not_empty",
            Self::ImportCutShort { .. } => "database.import_cut_short",
            Self::ForeignCache(_) => "database.foreign_cache",
            Self::Store(failure) => failure.code,
            Self::Cache(error) => error.code(),
            Self::System(_) => "database.system",
            Self::Closed => "database.closed",
        }
    }

    fn hint(&self) -> &'static str {
        match self {
            Self::Store(failure) => failure.hint,
            Self::Cache(error) => error.hint(),
            _ => ErrorInfo::action_of(ERRORS, self.code()),
        }
    }
}
