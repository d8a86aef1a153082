//! What a round of events comes to.

use super::Action;
use crate::port::WriteBatch;

/// What is to be committed, and what is to be done when that is durable.
#[derive(Clone, Debug)]
pub struct Round {
    /// Rows that become durable together; it may be empty.
    pub batch: WriteBatch,
    /// To be done after that, in order.
    pub actions: Vec<Action>,
}
