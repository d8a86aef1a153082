//! An order that rolls blocks back.

use primitives::Hash;

use crate::Height;
use crate::core::Ticket;

/// An order that rolls blocks back and is answered when that is done.
#[derive(Debug)]
pub(in crate::core) enum Order {
    /// Roll back to a height.
    PopOff { ticket: Ticket },
    /// Roll back blocks that contradict a block to be trusted.
    Trust {
        ticket: Ticket,
        height: Height,
        hash: Hash,
    },
}
