//! A database server of a network, as the monitor sees it.

use std::path::PathBuf;

use pgserver::PgServer;

/// In the data of a PostgreSQL server: its log, which it keeps at a bounded size.
const POSTGRES_LOG: &str = "pg_wal";

/// A server's process and folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseProcess {
    /// The name in results: `database`, `notary-database-1`.
    pub name: String,
    /// The process that starts all others of the server; `None` while it is stopped.
    pub pid: Option<u32>,
    /// The folder of its data.
    pub folder: PathBuf,
    /// The folder of its log, if the log has one of its own.
    pub log: Option<PathBuf>,
}

impl DatabaseProcess {
    /// Describes a PostgreSQL server.
    pub(super) fn postgres(name: String, server: &PgServer) -> Self {
        let folder = server.data();
        Self {
            name,
            pid: server.process(),
            log: Some(folder.join(POSTGRES_LOG)),
            folder,
        }
    }
}
