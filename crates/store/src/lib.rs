//! The only disk of the node: the embedded store behind the storage port. It moves bytes and never interprets them.
//!
//! - [`Embedded`]: one directory, a core's tables (the kernel's, the chain's), atomic durable batches and reads. It can be
//!   copied while it runs ([`Embedded::checkpoint`]), its files can be checked ([`Embedded::verify`]), and its opening can be
//!   rehearsed without a change ([`Embedded::rehearse`]).
//! - [`Custody`]: a list, kept outside the store's folders, of the files that must exist when a store is opened: a missing file
//!   is never an empty table.
//! - [`Committer`]: the one writer; groups the submissions that were queued while the last commit was syncing.
//! - [`CommitServer`]: the port to a database server. Behind one, the embedded store is a cache.
//! - [`Files`]: whole files by the hash of their bytes, and partial ones; the bytes of attachments.
//!
//! Invariants: nothing is acknowledged before it is on disk; after one failed write or sync nothing more is accepted
//! until the store is opened again; the store never interprets a value.

mod background;
mod checkpoint;
mod codes;
mod committer;
mod copy_inventory;
mod custody;
mod directory;
mod embedded;
mod failure;
mod files;
mod log;
mod memory;
mod options;
mod priority;
mod queue;
mod rehearsal;
mod server;
mod shared;
mod sorted;
mod sorted_files;
mod stats;
mod table;
mod threads;
mod verify;

pub use checkpoint::CopyFigures;
pub use codes::ERRORS;
pub use committer::{BehindServer, Class, CommitHandle, Committer, CommitterOptions};
pub use custody::{Custody, CustodyKey, StoreId};
pub use embedded::{BlockCacheFigures, Embedded};
pub use failure::OpenError;
pub use files::{
    Claim, FileFound, FileReader, Files, FilesError, FilesOptions, NOTE_BYTES_MAX, Part, PartFound,
    PartId, Published, Removed, SYNC_BYTES,
};
pub use options::{LOG_BYTES_MAX, Options};
pub use priority::{lower_priority, run_when_idle};
pub use rehearsal::{RehearsalFigures, Rehearsed};
pub use server::{
    CachePosition, ChangedKey, CommitServer, Confirm, POSITION_KEY, ServerCommit, decode_commit,
    encode_commit, position_row, read_position,
};
pub use shared::WriteTimes;
pub use stats::{CommitStats, CommitTotals, Distribution};
pub use verify::{Checked, DAMAGE_MAX, Damage};
