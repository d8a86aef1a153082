//! A signature with all that its check needs.

use crate::{Hash, PublicKey, Signature, SignatureContext};

/// A signature to check, with its key, message and context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedMessage {
    /// The alleged signer's key. A composite key signs nothing itself.
    pub key: PublicKey,
    /// The purpose of the signature.
    pub context: SignatureContext,
    /// The hash of the message.
    pub message: Hash,
    /// The signature.
    pub signature: Signature,
}

impl SignedMessage {
    /// Returns the hash that the signature is made over.
    pub(super) fn signed_hash(&self) -> Hash {
        Signature::signed_hash(self.signature.scheme(), self.context, &self.message)
    }
}
