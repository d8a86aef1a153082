//! Effects about keys: fresh ones of this node, and whose others are.

use ledger::{OwnershipProof, Party, PartyId};
use primitives::{Decode, DecodeError, Decoder, PublicKey};

use super::FlowContext;
use super::effects::done;
use crate::{EffectKind, EffectRequest, EffectResult, FlowError};

/// The answer to [`EffectRequest::KeyOwners`].
struct Owners(Vec<Option<PartyId>>);

impl Decode for Owners {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        // The node's own answer: as many as were asked for.
        d.vec_of(usize::MAX).map(Self)
    }
}

impl FlowContext {
    /// A fresh key of this node, told to nobody: for change, say. It signs like the node's own key.
    pub async fn fresh_key(&self) -> Result<PublicKey, FlowError> {
        let request = EffectRequest::FreshKey { audience: None };
        self.ask(request, EffectKind::FreshKey).await
    }

    /// A fresh key of this node with the proof of it for one party. A party that has asked for many keys and used none of them
    /// gets an earlier one again.
    pub async fn fresh_key_for(&self, party: &PartyId) -> Result<OwnershipProof, FlowError> {
        let audience = Some(*party);
        let request = EffectRequest::FreshKey { audience };
        self.ask(request, EffectKind::FreshKey).await
    }

    /// Checks the proof that a party brings and remembers whose the key is.
    ///
    /// # Errors
    /// Codes `key.*`: the proof is another's, was made for another, or is not signed by both keys.
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

    /// Proves to a party that a key is this node's: one of its fresh ones, which that party has seen in a transaction, say. From
    /// then on the party knows whose the key is.
    ///
    /// # Errors
    /// `node.unknown_key`: it is no fresh key of this node.
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

    /// Whose a key is: by the network map, as a key of this node, or by a proof that the owner gave this node.
    pub async fn party_of(&self, key: &PublicKey) -> Result<Option<Party>, FlowError> {
        let mut parties = self.parties_of(std::slice::from_ref(key)).await?;
        Ok(parties.pop().flatten())
    }

    /// Whose keys are, in their order, as [`FlowContext::party_of`] tells it of one.
    pub async fn parties_of(&self, keys: &[PublicKey]) -> Result<Vec<Option<Party>>, FlowError> {
        let owners = self.owners_of(keys).await?;
        let party = |owner: PartyId| self.network().party(&owner).cloned();
        Ok(owners.into_iter().map(|id| id.and_then(party)).collect())
    }

    /// Whether a key is this node's: its own or one of its fresh ones.
    pub async fn is_mine(&self, key: &PublicKey) -> Result<bool, FlowError> {
        // The node's own key asks nobody: all but a few states are held by that.
        Ok(*key == self.me().key || !self.own_of(std::slice::from_ref(key)).await?.is_empty())
    }

    /// Those of the keys that are this node's, in their order.
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
