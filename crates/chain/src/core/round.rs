//! The result of a round of events.

use super::Action;
use crate::port::WriteBatch;

/// The rows to commit, and the actions to perform when they are durable.
#[derive(Clone, Debug)]
pub struct Round {
    /// Rows that become durable together. The batch may be empty.
    pub batch: WriteBatch,
    /// Actions to perform afterwards, in order.
    pub actions: Vec<Action>,
}
