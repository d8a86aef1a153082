//! The errors of a shared record, as stable codes.

use pgstore::DatabaseError;
use primitives::{Coded, ErrorInfo};
use thiserror::Error;

/// Why a shared record can't be used.
#[derive(Debug, Error)]
pub enum RecordError {
    /// A setting is invalid, or a file that it names can't be read.
    #[error("{0}")]
    Settings(String),
    /// No server of the cluster can be reached, or none is ready.
    #[error("no server of the notary's database answers: {0}")]
    Unreachable(String),
    /// Another statement on this server keeps a row of a batch, such as one whose answer did not come in time.
    #[error("another statement on the notary's database keeps a row: {0}")]
    RowHeld(String),
    /// The server does not know the user, the password or the database.
    #[error("the notary's database refuses the log-in: {0}")]
    LogIn(String),
    /// The server may lose confirmed commits.
    #[error("the notary's database may lose confirmed commits: {0}")]
    NotDurable(String),
    /// The database holds the record of another notary.
    #[error("the database holds the record of another notary: {0}")]
    ForeignRecord(String),
    /// The tables are of a later version.
    #[error(
        "the tables of the notary's record have version {found}; this program knows up to {known}"
    )]
    TooNew {
        /// The version of the tables.
        found: u64,
        /// The latest version that this program knows.
        known: u64,
    },
    /// A row has a form that this program never writes.
    #[error("a row of the notary's record is damaged: {0}")]
    Damaged(String),
    /// The workers take the place of a notary whose data was not moved.
    #[error("the notary's data was not moved to its database yet")]
    NotMoved,
    /// The data that is moved contradicts the record.
    #[error("the notary's database contradicts the data that is moved: {0}")]
    Contradiction(String),
    /// A statement failed.
    #[error("the notary's database: {0}")]
    Server(String),
    /// The server is PostgreSQL and can't be used.
    #[error(transparent)]
    Postgres(#[from] DatabaseError),
}

/// The codes of a shared record.
pub const ERRORS: &[ErrorInfo] = &[
    ErrorInfo {
        code: "record.settings",
        cause: "A setting in the section `notary_database` is invalid, or a file that it names can't be read.",
        action: "Correct the setting that the message names.",
    },
    ErrorInfo {
        code: "record.unreachable",
        cause: "No server of the notary's database accepts a connection, or none of them belongs to the majority of its cluster.",
        action: "Start the servers and check the addresses in `notary_database.url`. A cluster without a majority answers again when it has one.",
    },
    ErrorInfo {
        code: "record.row_held",
        cause: "A statement that stands still on a server of the notary's database keeps a row that a batch needs.",
        action: "Nothing, unless it lasts: the worker goes on with the next server of a cluster. Look for the statement with `show processlist` (MariaDB) or `pg_stat_activity` (PostgreSQL), and end it.",
    },
    ErrorInfo {
        code: "record.log_in",
        cause: "The notary's database refuses the user, the password or the database of `notary_database`.",
        action: "Create the user and the database, and check `notary_database.url` and `notary_database.password_file`.",
    },
    ErrorInfo {
        code: "record.not_durable",
        cause: "A setting of the database server lets it lose commits that it has confirmed.",
        action: "Change the setting that the message names on every server, and start the worker again.",
    },
    ErrorInfo {
        code: "record.foreign",
        cause: "The tables in the database belong to a notary with another name or key.",
        action: "Use a database of its own for each notary.",
    },
    ErrorInfo {
        code: "record.too_new",
        cause: "A later version of the program has changed the tables of the notary's record.",
        action: "Run that version.",
    },
    ErrorInfo {
        code: "record.damaged",
        cause: "A row of the notary's record has a form that the program never writes.",
        action: "Stop the workers, run `tally notary audit`, and restore the database from a backup if it reports inconsistencies.",
    },
    ErrorInfo {
        code: "record.not_moved",
        cause: "The workers have the name and the key of a notary that was a node of its own, and its data is not in their database. They would sign for states that it has consumed.",
        action: "Stop the old notary, and run `tally notary migrate --node WORKER --from OLD`.",
    },
    ErrorInfo {
        code: "record.contradiction",
        cause: "The data of a notary is moved to a database that has another consumer of one of its states.",
        action: "Move the data before any worker has run on the database. Otherwise empty the database, and begin again.",
    },
    ErrorInfo {
        code: "record.inconsistent",
        cause: "An audit of the notary's record found a state whose consumer was not accepted, or a request that its requester did not sign.",
        action: "Stop all workers and restore the database from a backup: docs/guides/replicated-notary.md tells how to look at the record.",
    },
    ErrorInfo {
        code: "record.server",
        cause: "The notary's database refused a statement, for example because a privilege is missing or the disk is full.",
        action: "Correct the fault that the message names. The worker tries again until then.",
    },
];

impl RecordError {
    /// Returns whether another attempt may succeed without a change of the settings.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Unreachable(_) | Self::RowHeld(_) => true,
            Self::Postgres(error) => error.may_pass(),
            _ => false,
        }
    }
}

impl Coded for RecordError {
    fn code(&self) -> &'static str {
        match self {
            Self::Settings(_) => "record.settings",
            Self::Unreachable(_) => "record.unreachable",
            Self::RowHeld(_) => "record.row_held",
            Self::LogIn(_) => "record.log_in",
            Self::NotDurable(_) => "record.not_durable",
            Self::ForeignRecord(_) => "record.foreign",
            Self::TooNew { .. } => "record.too_new",
            Self::Damaged(_) => "record.damaged",
            Self::NotMoved => "record.not_moved",
            Self::Contradiction(_) => "record.contradiction",
            Self::Server(_) => "record.server",
            Self::Postgres(error) => error.code(),
        }
    }

    fn hint(&self) -> &'static str {
        match self {
            Self::Postgres(error) => error.hint(),
            error => ErrorInfo::action_of(ERRORS, error.code()),
        }
    }
}
