//! Files that transactions list by their hash (attachments): which ones are here, which items wait for them, and which parties
//! may have them.
//!
//! The kernel decides and keeps the rows. The bytes never pass through it: the shell fetches, stores and serves them.
//!
//! ```text
//!  delivered, or asked to sign ─► signatures ─► dependencies ─► contracts ─► files here? ──yes──► settled
//!                                                                               │ no
//!                        FetchFile ◄────────────────────────────────────────────┘
//!                            └─► FileOffered ─► within the limits? ─► FileArrived: a row, and everybody looks again
//! ```
//!
//! # Invariants
//! - A node takes part in a transaction only if it has all its files. A transaction that it records as part of a back chain, or
//!   that it decides as a notary, needs no files.
//! - A row is written only after the bytes are whole on the disk, and goes before they go.
//! - References are written in the batch that records the transaction.
//! - No byte of a file goes to, or is asked of, a peer for a transaction that does not list it or is not that peer's business.

pub(crate) mod access;
pub(crate) mod events;
pub(crate) mod limits;
mod need;
mod permits;
mod proposals;
pub(crate) mod requests;
mod row;
pub(crate) mod table;
mod upload;

pub(crate) use access::Participation;
pub(crate) use events::Files;
pub(crate) use need::FilesFound;
pub(crate) use permits::PermitRequest;
pub(crate) use proposals::Proposals;
pub use row::{
    FILE_NAME_BYTES_MAX, FILE_PAGE_MAX, FileFailure, FileFilter, FileOffer, FileOrigin, FilePage,
    FileRecord, FileRow, MEDIA_TYPE_BYTES_MAX, file_page, file_references, file_row,
};
pub(crate) use upload::Stored;
