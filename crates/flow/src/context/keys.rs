//! Effects about keys: fresh ones of this node, and whose others are.

use ledger::{OwnershipProof, Party, PartyId};
use primitives::{Decode, PublicKey};

use super::FlowContext;
use super::effects::done;
use crate::{EffectKind, EffectRequest, EffectResult, FlowError};

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

    /// Whose a key is: by the network map, as a key of this node, or by a proof that the owner gave this node.
    pub async fn party_of(&self, key: &PublicKey) -> Result<Option<Party>, FlowError> {
        let request = EffectRequest::KeyOwner(key.clone());
        let owner: Option<PartyId> = self.ask(request, EffectKind::KeyOwner).await?;
        Ok(owner.and_then(|owner| self.network().party(&owner).cloned()))
    }

    async fn ask<T: Decode>(
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
