//! A node's signed statement of how far its own data has come.

use primitives::{
    Domain, Hash, KeyPair, PublicKey, Signature, SignatureContext, SignedMessage, record,
};

use crate::PartyId;

/// A node's statement to its peers about its own data: the present life, and how much is recorded. Peers keep the latest mark
/// and show it to the node when they connect. If the node's data does not justify it, the node runs on an older copy, or at the
/// same time as another process with its key. No peer can forge a mark.
///
/// A life begins at each start of the node. Encoded as `[ordinal, life (16 bytes), number, signature]`. Signed, in the context
/// `DataMark`, is `Hash::of(DataMark, [party id, ordinal u64 BE, life, number u64 BE])`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataMark {
    /// Counts the lives of the node.
    pub ordinal: u64,
    /// The random name of the life.
    pub life: [u8; 16],
    /// Transactions recorded and, by a notary, transactions accepted: it never falls.
    pub number: u64,
    /// By the key that the network map has for the node.
    pub signature: Signature,
}

record!(DataMark {
    ordinal,
    life,
    number,
    signature
});

impl DataMark {
    fn message(owner: &PartyId, ordinal: u64, life: &[u8; 16], number: u64) -> Hash {
        let (ordinal, number) = (ordinal.to_be_bytes(), number.to_be_bytes());
        let parts: [&[u8]; 4] = [owner.as_bytes(), &ordinal, life, &number];
        Hash::of(Domain::DataMark, &parts)
    }

    /// Signs a mark of this node.
    pub fn sign(owner: &PartyId, ordinal: u64, life: [u8; 16], number: u64, by: &KeyPair) -> Self {
        let message = Self::message(owner, ordinal, &life, number);
        Self {
            ordinal,
            life,
            number,
            signature: by.sign(SignatureContext::DataMark, &message),
        }
    }

    /// Returns the check that the signature has to pass if the mark is this owner's.
    pub fn signed_message(&self, owner: &PartyId, key: &PublicKey) -> SignedMessage {
        SignedMessage {
            key: key.clone(),
            context: SignatureContext::DataMark,
            message: Self::message(owner, self.ordinal, &self.life, self.number),
            signature: self.signature,
        }
    }
}
