//! A member that sends garbage: bytes that do not decode, transactions with bad signatures, and notarisation requests for states
//! that never existed. Its victims must slow it down first and cut it off afterwards, and must not penalise any honest member.

use crate::chance::Chance;
use crate::membership::NODES;

/// The sender of garbage, and the reactions of its victims.
pub(crate) struct Garbage {
    pub(crate) chance: Chance,
    /// Victims that have slowed the sender down since their last start.
    pub(crate) slowed: [bool; NODES],
}

impl Garbage {
    pub(crate) fn new(chance: Chance) -> Self {
        Self {
            chance,
            slowed: [false; NODES],
        }
    }
}
