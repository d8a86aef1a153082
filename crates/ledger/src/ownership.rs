//! Fresh keys: a party's proof to one other party that a key is its own.

use primitives::{
    Coded, Domain, Encode, Hash, KeyPair, PublicKey, Signature, SignatureContext, SignedMessage,
};
use thiserror::Error;

use crate::{NetworkMap, PartyId, errors};

/// A party's signed statement to one other party that a key is its own.
///
/// Encoded as `[key, owner, audience, signature by the owner's key, signature by the key]`. Both sign, in the context
/// `KeyOwnership`, `Hash::of(KeyOwnership, [owner, audience, key (its encoding)])`: the owner's key vouches for the fresh key,
/// and the fresh key shows that the owner holds it. A proof that reaches its audience twice reveals nothing new, and no other
/// party accepts it. The owner cannot deny it later: any holder can show it to others, so it is sent to one counterparty and
/// never forwarded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnershipProof {
    /// The fresh key, of one scheme.
    pub key: PublicKey,
    /// The owner of the key.
    pub owner: PartyId,
    /// The party that the proof is made for.
    pub audience: PartyId,
    /// By the key that the network map has for the owner.
    pub by_owner: Signature,
    /// By the fresh key.
    pub by_key: Signature,
}

primitives::record!(OwnershipProof {
    key,
    owner,
    audience,
    by_owner,
    by_key
});

/// Reasons why a proof of ownership is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum OwnershipError {
    /// The proof is about another party than the one that presents it.
    #[error("the proof is about party {owner}, and party {from} brings it")]
    WrongOwner {
        /// The owner of the key according to the proof.
        owner: PartyId,
        /// The party that presents it.
        from: PartyId,
    },
    /// It was made for another party.
    #[error("the proof was made for party {0}")]
    WrongAudience(PartyId),
    /// The network map does not list the owner.
    #[error("the network map does not list the owner, party {0}")]
    OwnerUnknown(PartyId),
    /// The key is one that the network map lists, or a composite one.
    #[error("the key {0} is no fresh key")]
    NotFresh(PublicKey),
    /// A signature is not valid.
    #[error("a signature of the proof about the key {0} is not valid")]
    BadSignature(PublicKey),
}

impl Coded for OwnershipError {
    fn code(&self) -> &'static str {
        match self {
            OwnershipError::WrongOwner { .. } => "key.proof_wrong_owner",
            OwnershipError::WrongAudience(_) => "key.proof_wrong_audience",
            OwnershipError::OwnerUnknown(_) => "key.owner_unknown",
            OwnershipError::NotFresh(_) => "key.not_fresh",
            OwnershipError::BadSignature(_) => "key.proof_bad_signature",
        }
    }

    fn hint(&self) -> &'static str {
        errors::action(self.code())
    }
}

impl OwnershipProof {
    /// Returns the message that both keys sign.
    pub fn message(key: &PublicKey, owner: &PartyId, audience: &PartyId) -> Hash {
        let parts: [&[u8]; 3] = [owner.as_bytes(), audience.as_bytes(), &key.to_bytes()];
        Hash::of(Domain::KeyOwnership, &parts)
    }

    /// Makes a proof: `identity` is the owner's key in the network map.
    pub fn make(fresh: &KeyPair, identity: &KeyPair, owner: PartyId, audience: PartyId) -> Self {
        let message = Self::message(fresh.public(), &owner, &audience);
        Self {
            key: fresh.public().clone(),
            owner,
            audience,
            by_owner: identity.sign(SignatureContext::KeyOwnership, &message),
            by_key: fresh.sign(SignatureContext::KeyOwnership, &message),
        }
    }

    /// Checks a proof that `from` presents to `me`, except for its signatures. Returns them for the caller to check.
    ///
    /// # Errors
    /// The proof belongs to another party, was made for another party, or is about a key that is not fresh. The network map may
    /// also lack the owner.
    pub fn check(
        &self,
        network: &NetworkMap,
        from: &PartyId,
        me: &PartyId,
    ) -> Result<Vec<SignedMessage>, OwnershipError> {
        if self.owner != *from {
            return Err(OwnershipError::WrongOwner {
                owner: self.owner,
                from: *from,
            });
        }
        if self.audience != *me {
            return Err(OwnershipError::WrongAudience(self.audience));
        }
        if self.key.scheme().is_none() || network.by_key(&self.key).is_some() {
            return Err(OwnershipError::NotFresh(self.key.clone()));
        }
        let owner = network.party(from);
        let owner = owner.ok_or(OwnershipError::OwnerUnknown(*from))?;
        let message = Self::message(&self.key, &self.owner, &self.audience);
        let signed = |key: &PublicKey, signature| SignedMessage {
            key: key.clone(),
            context: SignatureContext::KeyOwnership,
            message,
            signature,
        };
        Ok(vec![
            signed(&owner.key, self.by_owner),
            signed(&self.key, self.by_key),
        ])
    }
}
