//! Documents: files that one party shares permanently with another.
//!
//! The state names the sharing party, the receiving party, the file and its title. The file itself is an attachment of the
//! transaction, so every party that records the transaction as a participant has the file.

mod contract;
mod errors;
mod state;

pub use contract::{DOCUMENT_NAME, DocumentContract, document_code, document_name};
pub use errors::DocumentError;
pub use state::{DocumentCommand, DocumentState, TITLE_BYTES_MAX};
