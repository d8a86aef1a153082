//! Whose keys are, for people: by the network map, as this node's own fresh keys, or by proofs given to this node.

use std::sync::Arc;

use kernel::port::{Reads, StoreFailure};
use ledger::{NetworkMap, Party, PartyId};
use primitives::PublicKey;

/// See the module.
pub(super) struct KeyNames<'a, R> {
    /// This node.
    pub(super) me: PartyId,
    pub(super) network: &'a Arc<NetworkMap>,
    pub(super) reads: &'a R,
}

impl<R: Reads> KeyNames<'_, R> {
    /// Whose a key is, if this node knows. A key that the network map lists costs no look-up.
    pub(super) fn owner(&self, key: &PublicKey) -> Result<Option<PartyId>, StoreFailure> {
        if let Some(party) = self.network.by_key(key) {
            return Ok(Some(party.id()));
        }
        match kernel::is_own_key(key, self.reads)? {
            true => Ok(Some(self.me)),
            false => kernel::key_owner(key, self.reads),
        }
    }

    /// The party, if it is known and the network map lists it. One that can't be read just now is as good as one that is not known.
    pub(super) fn party(&self, key: &PublicKey) -> Option<&Party> {
        let owner = self.owner(key).ok().flatten();
        owner.and_then(|owner| self.network.party(&owner))
    }
}
