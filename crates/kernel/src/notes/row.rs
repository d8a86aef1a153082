//! The row of a note.

use primitives::Timestamp;

/// Maximum number of notes of one transaction.
pub const NOTES_MAX: usize = 100;
/// Maximum length of a note, in bytes.
pub const NOTE_BYTES_MAX: usize = 4_096;

/// Names a note of a transaction: the time it was made, then random bytes of the shell's.
pub type NoteId = [u8; 12];

/// A note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoteRow {
    /// The user who made it.
    pub user: String,
    /// The time at which it was made.
    pub at: Timestamp,
    /// Its text, at most [`NOTE_BYTES_MAX`] bytes.
    pub text: String,
}

primitives::record!(NoteRow { user, at, text });
