//! Files that transactions list by their hash (attachments): which are here, who waits for which, who may have them.
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
//! - A node takes part in no transaction whose files it lacks. What it records as another one's back chain, or decides as a
//!   notary, needs none.
//! - A row is written only after the bytes are whole on the disk, and goes before they go.
//! - References are written in the batch that records the transaction.
//! - No byte of a file goes to, or is asked of, a peer for a transaction that does not list it or is not that peer's business.

mod access;
mod events;
mod need;
mod proposals;
mod requests;
mod row;
mod table;

pub(crate) use events::Stored;
pub(crate) use proposals::Proposals;
pub(crate) use requests::{FileWaits, Waiter};
pub use row::{
    FILE_NAME_BYTES_MAX, FILE_PAGE_MAX, FileFailure, FileFilter, FileOffer, FileOrigin, FilePage,
    FileRecord, FileRow, MEDIA_TYPE_BYTES_MAX, file_page, file_references, file_row,
};
pub(crate) use table::FileBook;
