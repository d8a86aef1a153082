//! A private PostgreSQL server for tests and for the laboratory: in a folder of its own, on a free port of the loopback address, durable, and
//! stopped when it is dropped.
//!
//! It uses the installed programs of PostgreSQL. PostgreSQL refuses to run as root, so root runs it as the user `postgres` of
//! Debian's package.

mod error;
mod programs;
mod server;

pub use error::ServerError;
pub use server::{PASSWORD, PgServer, ServerOptions, USER};
