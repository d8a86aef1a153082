//! Notes that users attach to recorded transactions. They are this node's own: no peer ever sees them.

mod book;
mod row;

pub(crate) use book::{NewNote, Notes};
pub use row::{NOTE_BYTES_MAX, NOTES_MAX, NoteId, NoteRow};
