//! Effects on keys: fresh keys of this node, and the owners of keys.

use ledger::{OwnershipProof, Party, PartyId};
use primitives::{Decode, DecodeError, Decoder, PublicKey};

use super::FlowContext;
use super::effects::done;
use crate::{EffectKind, EffectRequest, EffectResult, FlowError};

/// The answer to [`EffectRequest::KeyOwners`].
struct Owners(Vec<Option<PartyId>>);

impl Decode for Owners {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        // The node's own answer: one entry for each key asked for.
        d.vec_of(usize::MAX).map(Self)
    }
}

impl FlowContext {
    /// Creates a fresh key of this node without proving it to any party, for example for change. It signs like the node's own
    /// key.
    pub async fn fresh_key(&self) -> Result<PublicKey, FlowError> {
        let request = EffectRequest::FreshKey { audience: None };
        self.ask(request, EffectKind::FreshKey).await
    }

    /// Creates a fresh key of this node, with its ownership proof for one party. A party that has asked for many keys and used
    /// none of them gets an earlier one again.
    pub async fn fresh_key_for(&self, party: &PartyId) -> Result<OwnershipProof, FlowError> {
        let audience = Some(*party);
        let request = EffectRequest::FreshKey { audience };
        self.ask(request, EffectKind::FreshKey).await
    }

    /// Checks a party's proof of a key and remembers the owner of the key.
    ///
    /// # Errors
    /// Codes `key.*`: the proof belongs to another party, was made for another party, or is not validly signed by both keys,
    /// the party's and the fresh one.
    pub async fn learn_key(
        &self,
        from: &PartyId,
        proof: OwnershipProof,
    ) -> Result<PublicKey, FlowError> {
        let messages = proof.check(self.network(), from, &self.my_id())?;
        if self.check_signatures(messages).await.is_err() {
            return Err(ledger::OwnershipError::BadSignature(proof.key).into());
        }
        let key = proof.key.clone();
        let request = EffectRequest::KeepOwner(Box::new(proof));
        self.effect(request).await.and_then(done)?;
        Ok(key)
    }

    /// Proves to a party that a fresh key, which it has seen in a transaction for example, is this node's. Afterwards the party
    /// knows the owner of the key.
    ///
    /// # Errors
    /// `node.unknown_key`: the key is not a fresh key of this node.
    pub async fn prove_key(
        &self,
        key: &PublicKey,
        party: &PartyId,
    ) -> Result<OwnershipProof, FlowError> {
        let request = EffectRequest::ProveKey {
            key: key.clone(),
            audience: *party,
        };
        self.ask(request, EffectKind::ProveKey).await
    }

    /// Returns the owner of a key: from the network map, as a key of this node, or by a proof that the owner gave this node.
    pub async fn party_of(&self, key: &PublicKey) -> Result<Option<Party>, FlowError> {
        let mut parties = self.parties_of(std::slice::from_ref(key)).await?;
        Ok(parties.pop().flatten())
    }

    /// Returns the owners of keys, in order, by the rules of [`FlowContext::party_of`].
    pub async fn parties_of(&self, keys: &[PublicKey]) -> Result<Vec<Option<Party>>, FlowError> {
        let owners = self.owners_of(keys).await?;
        let party = |owner: PartyId| self.network().party(&owner).cloned();
        Ok(owners.into_iter().map(|id| id.and_then(party)).collect())
    }

    /// Returns whether a key is this node's: its own or one of its fresh ones.
    pub async fn is_mine(&self, key: &PublicKey) -> Result<bool, FlowError> {
        // The node's own key needs no lookup, and it holds nearly all states.
        Ok(*key == self.me().key || !self.own_of(std::slice::from_ref(key)).await?.is_empty())
    }

    /// Returns the keys that are this node's, in order.
    pub async fn own_of(&self, keys: &[PublicKey]) -> Result<Vec<PublicKey>, FlowError> {
        let owners = self.owners_of(keys).await?;
        let mine = |owner: &Option<PartyId>| *owner == Some(self.my_id());
        let own = keys.iter().zip(&owners).filter(|(_, owner)| mine(owner));
        Ok(own.map(|(key, _)| key.clone()).collect())
    }

    async fn owners_of(&self, keys: &[PublicKey]) -> Result<Vec<Option<PartyId>>, FlowError> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let request = EffectRequest::KeyOwners(keys.to_vec());
        let Owners(owners) = self.ask(request, EffectKind::KeyOwners).await?;
        if owners.len() == keys.len() {
            Ok(owners)
        } else {
            Err(FlowError::mismatched(EffectKind::KeyOwners))
        }
    }

    pub(super) async fn ask<T: Decode>(
        &self,
        request: EffectRequest,
        kind: EffectKind,
    ) -> Result<T, FlowError> {
        match self.effect(request).await? {
            EffectResult::Response(bytes) => {
                T::from_bytes(&bytes).map_err(|_| FlowError::mismatched(kind))
            }
            _ => Err(FlowError::mismatched(kind)),
        }
    }
}
