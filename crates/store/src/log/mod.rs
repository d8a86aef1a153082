//! The write-ahead log: every commit is one checksummed record, appended and synced before anything else happens.
//!
//! ```text
//! log/0.log   header | record | record | ...            header 512 bytes, records from there, 8-byte aligned
//! log/1.log   header | ...                               record = checksum 8, sequence 8, length 4, zero 4, rows
//! ```
//!
//! Files are slots that are overwritten again and again. Once a slot is written through, a sync costs only the data
//! (measured: 140 us against 330 us for 200 KB), no file is created, renamed or removed while the node runs, and the
//! disk in use stays constant. A segment is one use of a slot. Its header names it, and its records are salted with its
//! own number, so that bytes of an earlier segment can never pass as its record.
//!
//! # Invariants
//! - Unless commits are not synced ([`Options::sync_commits`](crate::Options::sync_commits)), at most one record is ever unsynced, the last; so a damaged record with a valid one after it is damage, never a
//!   torn write, and is reported.
//! - A slot is reused only after the mark that its segment is retired has been synced.

mod header;
mod record;
mod segment;
mod slots;

pub(crate) use header::{Header, Sector};
pub(crate) use record::{KEY_BYTES_MAX, PAYLOAD_BYTES_MAX, ROW_PREFIX_BYTES, Record, Row, rows};
pub(crate) use segment::{LogError, Segment};
pub(crate) use slots::{Log, LogRead, first_sector, list_slots, slot_name};
