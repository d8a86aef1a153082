//! Private database servers for tests and for the laboratory: a PostgreSQL server, or a MariaDB Galera cluster. Each is in a folder of its own,
//! on free ports of the loopback address, durable, and stopped when it is dropped.
//!
//! They use the installed programs. Root runs them as the user `postgres` or `mysql` of Debian's packages.

mod error;
mod galera;
mod keeper;
mod ports;
mod programs;
mod server;
mod signal;

pub use error::ServerError;
pub use galera::{ClusterOptions, GaleraCluster};
pub use keeper::KeptChild;
pub use ports::free_ports;
pub use server::{PASSWORD, PgServer, ServerOptions, USER};
