//! Notes that users attach to recorded transactions: this node's own, no peer sees them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The longest note, in bytes.
pub const NOTE_BYTES_MAX: usize = 4_096;

/// The body of `POST /v1/transactions/{id}/notes`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewNote {
    /// What it says: 1 to 4,096 bytes.
    #[schemars(length(min = 1, max = 4096))]
    pub text: String,
}

/// A note.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NoteView {
    /// Names it among the transaction's notes; hexadecimal, in the order of time.
    pub id: String,
    /// Who made it.
    pub user: String,
    /// When.
    pub at_ms: u64,
    /// What it says.
    pub text: String,
}

/// The answer of `GET /v1/transactions/{id}/notes`: all of them, at most 100.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NoteList {
    /// The oldest first.
    pub notes: Vec<NoteView>,
}
