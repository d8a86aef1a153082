//! The other parts as the service of a notary sees them.

use ledger::{PartyId, SignedTransaction};

use crate::intake::items::Intake;
use crate::keys::KeyBook;
use crate::port::Reads;

/// Read-only views of the parts that a notary asks.
#[derive(Clone, Copy)]
pub(crate) struct NotaryViews<'a> {
    pub(crate) intake: &'a Intake,
    pub(crate) keys: &'a KeyBook,
    /// This notary's data is known to be an older copy.
    pub(crate) is_older_copy: bool,
    pub(crate) reads: &'a dyn Reads,
}

impl NotaryViews<'_> {
    /// Returns whether the intake has room for a transaction of a requester.
    pub(super) fn has_room_for(self, peer: &PartyId, transaction: &SignedTransaction) -> bool {
        self.intake.has_room(peer, transaction.weight())
    }
}
