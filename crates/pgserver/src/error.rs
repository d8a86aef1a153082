//! Why there is no server.

use std::path::PathBuf;

use thiserror::Error;

/// Why a private server does not run.
#[derive(Debug, Error)]
pub enum ServerError {
    /// PostgreSQL is not installed.
    #[error(
        "PostgreSQL is not installed: there is no initdb in /usr/lib/postgresql/*/bin or PATH; install Debian's package postgresql"
    )]
    NotInstalled,
    /// MariaDB or the library of its clusters is not installed.
    #[error(
        "MariaDB Galera is not installed: there is no /usr/sbin/mariadbd or no libgalera_smm.so; install Debian's packages mariadb-server and galera-4"
    )]
    GaleraNotInstalled,
    /// Root has no other user to run it.
    #[error(
        "the database server does not run as root, and there is no user {0}; install Debian's package of the server, or use another user"
    )]
    NoUser(&'static str),
    /// A program cannot be started.
    #[error("cannot run {program}: {source}")]
    Program {
        /// The program.
        program: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A program ended with an error.
    #[error("{program} failed: {output}")]
    Failed {
        /// The program.
        program: String,
        /// Its output.
        output: String,
    },
    /// A file cannot be written.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// No ports are free.
    #[error("no port for a server: {0}")]
    NoPorts(std::io::Error),
    /// A server of a cluster does not join the others in time.
    #[error("server {server} of the cluster did not join; its log ends with: {log}")]
    LateMember {
        /// The server.
        server: usize,
        /// The end of its log.
        log: String,
    },
    /// The server accepts no connection in time.
    #[error("PostgreSQL did not accept connections within {seconds} s; its log ends with: {log}")]
    Late {
        /// The time.
        seconds: u64,
        /// The end of its log.
        log: String,
    },
}
