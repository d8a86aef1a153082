//! Scopes of effect numbers.

/// A flow or a sub-flow that is running.
pub(super) struct Scope {
    pub(super) index: u16,
    pub(super) parent: u16,
    pub(super) effects: u16,
    /// The number of deadlines; they are numbered from the other end.
    pub(super) deadlines: u16,
    pub(super) took_input: bool,
}
