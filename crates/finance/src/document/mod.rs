//! Documents: files that one party shares with another, for good.
//!
//! The state says who shared which file with whom, and under which title. The file itself is an attachment of the transaction, so
//! whoever records the transaction as a party to it has the file.

mod contract;
mod errors;
mod state;

pub use contract::{DOCUMENT_NAME, DocumentContract, document_code, document_name};
pub use errors::DocumentError;
pub use state::{DocumentCommand, DocumentState, TITLE_BYTES_MAX};
