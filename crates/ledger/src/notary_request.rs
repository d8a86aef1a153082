//! What is asked of a notary.

use primitives::{Domain, Hash, KeyPair, PublicKey, Signature, SignatureContext, SignedMessage};

use crate::{FilteredTransaction, Party, PartyId, TxId, WireTransaction};

/// A request to notarise a transaction.
///
/// Encoded as `[tear-off, requester's party id, key, signature]`. The signature is made in the context `NotaryRequest`
/// over `Hash::of(NotaryRequest, [transaction id, notary's party id])`, so it serves for no other transaction and at no
/// other notary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotaryRequest {
    /// What the notary may see of the transaction.
    pub tear_off: FilteredTransaction,
    /// Who asks.
    pub requester: PartyId,
    /// The key the requester signs with.
    pub key: PublicKey,
    /// The requester's signature.
    pub signature: Signature,
}

primitives::record!(NotaryRequest {
    tear_off,
    requester,
    key,
    signature
});

impl NotaryRequest {
    /// The hash that a requester signs.
    pub fn message(id: &TxId, notary: &PartyId) -> Hash {
        Hash::of(Domain::NotaryRequest, &[id.as_bytes(), notary.as_bytes()])
    }

    /// A request whose signature was made elsewhere over [`message`](Self::message).
    pub fn new(wire: &WireTransaction, requester: &Party, signature: Signature) -> Self {
        Self {
            tear_off: FilteredTransaction::for_notary(wire),
            requester: requester.id(),
            key: requester.key.clone(),
            signature,
        }
    }

    /// Signs a request.
    pub fn sign(
        wire: &WireTransaction,
        notary: &PartyId,
        requester: PartyId,
        by: &KeyPair,
    ) -> Self {
        let message = Self::message(&wire.id(), notary);
        Self {
            tear_off: FilteredTransaction::for_notary(wire),
            requester,
            key: by.public().clone(),
            signature: by.sign(SignatureContext::NotaryRequest, &message),
        }
    }

    /// The check that the requester's signature has to pass, if `id` is what the tear-off proves.
    pub fn signed_message(&self, id: &TxId, notary: &PartyId) -> SignedMessage {
        SignedMessage {
            key: self.key.clone(),
            context: SignatureContext::NotaryRequest,
            message: Self::message(id, notary),
            signature: self.signature,
        }
    }
}

/// The hash by which a notary names the transaction that consumed a state, without giving its id away:
/// `Hash::of(ConsumingTx, [id])`.
pub fn consuming_hash(id: &TxId) -> Hash {
    Hash::of(Domain::ConsumingTx, &[id.as_bytes()])
}
