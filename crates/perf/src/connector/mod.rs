//! Connectors: programs that connect any other system to the laboratory, so that it is measured with the same load, audit and report as our
//! own.
//!
//! A connector is a program in any language. It gets requests as lines of JSON on its standard input and writes answers as lines of JSON to its
//! standard output; what it writes to standard error goes to a log. `docs/reference/connectors.md` describes the lines. [`Connector`] is the
//! laboratory's side, and [`postgres`] is a connector of ours.

mod codes;
mod ending;
mod message;
pub mod postgres;
mod process;
mod requests;
mod verdict;

pub use codes::ERRORS;
pub(crate) use codes::NO_CONNECTOR;
pub use message::{Answer, AnswerError, Audited, Hello, HelloProcess, PROTOCOL, Request, Task};
pub use process::Connector;
