//! Sizes that belong to the format of the folder.

/// A part is synced each time it has grown by this many bytes. The value is part of the format: recovery relies on it.
pub const SYNC_BYTES: u64 = 8 << 20;

/// Maximum size of the note of a part, in bytes.
pub const NOTE_BYTES_MAX: usize = 4_096;

/// Folders of whole files: one for each first byte of a hash.
pub(super) const SHELVES: usize = 256;
