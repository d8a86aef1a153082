//! The owners of keys, for display: from the network map, this node's own fresh keys, and proofs given to this node.

use std::sync::Arc;

use kernel::port::{Reads, StoreFailure};
use ledger::{NetworkMap, Party, PartyId};
use primitives::PublicKey;

/// The names of key owners.
pub(super) struct KeyNames<'a, R> {
    /// This node.
    pub(super) me: PartyId,
    pub(super) network: &'a Arc<NetworkMap>,
    pub(super) reads: &'a R,
}

impl<R: Reads> KeyNames<'_, R> {
    /// Returns the owner of a key, if this node knows it. A key in the network map costs no look-up.
    pub(super) fn owner(&self, key: &PublicKey) -> Result<Option<PartyId>, StoreFailure> {
        if let Some(party) = self.network.by_key(key) {
            return Ok(Some(party.id()));
        }
        match kernel::is_own_key(key, self.reads)? {
            true => Ok(Some(self.me)),
            false => kernel::key_owner(key, self.reads),
        }
    }

    /// Returns the party of a key if the owner is known and in the network map. An owner that cannot be read counts as unknown.
    pub(super) fn party(&self, key: &PublicKey) -> Option<&Party> {
        let owner = self.owner(key).ok().flatten();
        owner.and_then(|owner| self.network.party(&owner))
    }
}
