//! The bytes of attachments: files that are named by the hash of their content.
//!
//! ```text
//! folder/LOCK            one process at a time
//!        BOOT            the run of the machine in which the parts were written
//!        parts/u-<id>    a part: what has come of a user's upload, .note: what its owner keeps beside it
//!        parts/f-<hash>  a part: what has come of a file that is fetched
//!        files/ab/<hash> a whole file, named by the SHA-256 of its bytes, never changed
//! ```
//! A part is written from its start to its end and hashed on the way. [`Part::finish`] syncs it, gives it its name by a rename
//! and syncs the folder: under a file's name there is the whole file or nothing.
//!
//! # Correctness
//! - No name on disk comes from outside: names are hashes and generated ids.
//! - A part has one writer; a file has any number of readers. An open reader survives the file's removal.
//! - A caller that publishes a file holds a [`Claim`] until the row that refers to it is durable. A claimed file is not
//!   removed, so the removal of a file that was unused a moment ago cannot overtake the row of a new user.
//! - A part is synced whenever it passes a multiple of [`SYNC_BYTES`]. So the bytes before the last multiple that a part has
//!   passed are on disk. After the machine itself went down, only these bytes of a part are trusted.
//! - After a failed sync a part goes back to its last synced length.
//!
//! Blocking. The module does not know the purpose of a file.

mod claims;
mod failure;
mod folder;
mod part;
mod place;
mod reader;
mod shelves;
mod sizes;

pub use claims::Claim;
pub(crate) use failure::ERRORS;
pub use failure::FilesError;
pub use folder::{Files, FilesOptions};
pub use part::{Part, Published};
pub use place::{PartFound, PartId};
pub use reader::FileReader;
pub use shelves::{FileFound, Removed};
pub use sizes::{NOTE_BYTES_MAX, SYNC_BYTES};
