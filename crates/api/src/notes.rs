//! Notes that users attach to recorded transactions. They stay on this node; no peer sees them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Maximum length of a note, in bytes.
pub const NOTE_BYTES_MAX: usize = 4_096;

/// The body of `POST /v1/transactions/{id}/notes`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewNote {
    /// The text: 1 to 4,096 bytes.
    #[schemars(length(min = 1, max = 4096))]
    pub text: String,
}

/// A note.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NoteView {
    /// Its id among the transaction's notes; hexadecimal, in the order of time.
    pub id: String,
    /// The user who wrote it.
    pub user: String,
    /// The time at which it was written.
    pub at_ms: u64,
    /// The text.
    pub text: String,
}

/// The answer of `GET /v1/transactions/{id}/notes`: all of them, at most 100.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NoteList {
    /// The notes, oldest first.
    pub notes: Vec<NoteView>,
}
