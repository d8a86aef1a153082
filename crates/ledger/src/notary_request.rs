//! Requests to a notary.

use primitives::{
    Decode, DecodeError, Decoder, Domain, Encode, Encoder, Hash, KeyPair, PublicKey, Signature,
    SignatureContext, SignedMessage,
};

use crate::{FilteredTransaction, Party, PartyId, SignedTransaction, TxId, WireTransaction};

/// The form of a transaction in a request to a notary. Encoded as `[0, tear-off]` or `[1, signed transaction]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotarySubject {
    /// For a non-validating notary: only the parts that it needs for its decision.
    TearOff(Box<FilteredTransaction>),
    /// For a validating notary: everything, with all required signatures except the notary's own.
    Whole(SignedTransaction),
}

impl NotarySubject {
    /// Returns the form that a notary of this kind requires.
    pub fn of(transaction: &SignedTransaction, validating: bool) -> Self {
        match validating {
            true => Self::Whole(transaction.clone()),
            false => Self::from(transaction.wire()),
        }
    }
}

impl From<&WireTransaction> for NotarySubject {
    fn from(wire: &WireTransaction) -> Self {
        Self::TearOff(Box::new(FilteredTransaction::for_notary(wire)))
    }
}

impl Encode for NotarySubject {
    fn encode(&self, e: &mut Encoder) {
        e.array(2);
        match self {
            Self::TearOff(tear_off) => {
                e.u64(0);
                tear_off.encode(e);
            }
            Self::Whole(transaction) => {
                e.u64(1);
                transaction.encode(e);
            }
        }
    }
}

impl Decode for NotarySubject {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.expect_array(2)?;
        match d.u8()? {
            0 => Ok(Self::TearOff(Box::new(Decode::decode(d)?))),
            1 => Ok(Self::Whole(Decode::decode(d)?)),
            _ => Err(d.invalid("a notary is shown a tear-off or a transaction")),
        }
    }
}

/// A request to notarise a transaction.
///
/// Encoded as `[subject, requester's party id, key, signature]`. The signature is made in the context `NotaryRequest`
/// over `Hash::of(NotaryRequest, [transaction id, notary's party id])`, so it serves for no other transaction and at no
/// other notary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotaryRequest {
    /// The transaction, in the form that the notary requires.
    pub subject: NotarySubject,
    /// The asking party.
    pub requester: PartyId,
    /// The key the requester signs with.
    pub key: PublicKey,
    /// The requester's signature.
    pub signature: Signature,
}

primitives::record!(NotaryRequest {
    subject,
    requester,
    key,
    signature
});

impl NotaryRequest {
    /// Returns the hash that a requester signs.
    pub fn message(id: &TxId, notary: &PartyId) -> Hash {
        Hash::of(Domain::NotaryRequest, &[id.as_bytes(), notary.as_bytes()])
    }

    /// Makes a request with an existing signature over [`message`](Self::message).
    pub fn new(subject: impl Into<NotarySubject>, requester: &Party, signature: Signature) -> Self {
        Self {
            subject: subject.into(),
            requester: requester.id(),
            key: requester.key.clone(),
            signature,
        }
    }

    /// Signs a request that shows a tear-off.
    pub fn sign(
        wire: &WireTransaction,
        notary: &PartyId,
        requester: PartyId,
        by: &KeyPair,
    ) -> Self {
        Self::sign_for(wire.into(), &wire.id(), notary, requester, by)
    }

    /// Signs a request that shows the whole transaction.
    pub fn sign_whole(
        transaction: &SignedTransaction,
        notary: &PartyId,
        requester: PartyId,
        by: &KeyPair,
    ) -> Self {
        let subject = NotarySubject::of(transaction, true);
        Self::sign_for(subject, &transaction.id(), notary, requester, by)
    }

    fn sign_for(
        subject: NotarySubject,
        id: &TxId,
        notary: &PartyId,
        requester: PartyId,
        by: &KeyPair,
    ) -> Self {
        let message = Self::message(id, notary);
        Self {
            subject,
            requester,
            key: by.public().clone(),
            signature: by.sign(SignatureContext::NotaryRequest, &message),
        }
    }

    /// Returns the check that the requester's signature has to pass, for the `id` that the subject proves.
    pub fn signed_message(&self, id: &TxId, notary: &PartyId) -> SignedMessage {
        SignedMessage {
            key: self.key.clone(),
            context: SignatureContext::NotaryRequest,
            message: Self::message(id, notary),
            signature: self.signature,
        }
    }
}

/// Returns a hash that identifies the transaction that consumed a state without revealing its id: `Hash::of(ConsumingTx,
/// [id])`.
pub fn consuming_hash(id: &TxId) -> Hash {
    Hash::of(Domain::ConsumingTx, &[id.as_bytes()])
}
