//! The inputs of the cell.

use crate::digest::Digest;

/// The input that caused a poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// The start of the flow.
    Start,
    /// The answer of an effect.
    Answer(u32),
    /// A message or an end on a session.
    Message,
}

/// The state of the cell before its last input.
pub(super) struct Mark {
    pub(super) input: Input,
    pub(super) row: Option<(usize, u32)>,
    pub(super) asked: Digest,
}
