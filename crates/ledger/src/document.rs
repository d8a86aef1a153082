//! Signed network documents: node infos and parameters under the network's root key.

use std::fmt;
use std::marker::PhantomData;

use primitives::{
    Coded, Decode, DecodeError, Decoder, Domain, Encode, Encoder, Hash, KeyPair, PublicKey,
    Signature, SignatureChecker, SignatureContext, SignedMessage,
};
use thiserror::Error;

use crate::limits::DOCUMENT_BYTES_MAX;
use crate::{NetworkParameters, NodeInfo, errors};

/// A type of document, with the signature context of its signatures.
pub trait Document: Encode + Decode {
    /// The context.
    const CONTEXT: SignatureContext;
}

impl Document for NodeInfo {
    const CONTEXT: SignatureContext = SignatureContext::NodeInfo;
}

impl Document for NetworkParameters {
    const CONTEXT: SignatureContext = SignatureContext::NetworkParameters;
}

/// A document as its bytes, with the signature of who vouches for it.
///
/// Encoded as `[document (byte string), key, signature]`. The signature is made in the document's context over
/// `Hash::of(Document, [bytes])`. The content is available only after a check.
pub struct SignedDocument<T> {
    bytes: Vec<u8>,
    by: PublicKey,
    signature: Signature,
    kind: PhantomData<fn() -> T>,
}

/// Reasons why a signed document is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DocumentError {
    /// It is signed by another key than the network's.
    #[error("the document is signed by {0}, not by the network's key")]
    WrongSigner(PublicKey),
    /// Its signature is not valid.
    #[error("the document's signature is not valid")]
    BadSignature,
    /// It does not decode.
    #[error("the document does not decode: {0}")]
    Malformed(#[from] DecodeError),
}

impl Coded for DocumentError {
    fn code(&self) -> &'static str {
        match self {
            DocumentError::WrongSigner(_) => "network.document_wrong_signer",
            DocumentError::BadSignature => "network.document_bad_signature",
            DocumentError::Malformed(_) => "network.document_malformed",
        }
    }

    fn hint(&self) -> &'static str {
        errors::action(self.code())
    }
}

impl<T: Document> SignedDocument<T> {
    /// Signs a document.
    pub fn sign(document: &T, by: &KeyPair) -> Self {
        let bytes = document.to_bytes();
        let signature = by.sign(T::CONTEXT, &message(&bytes));
        Self {
            bytes,
            by: by.public().clone(),
            signature,
            kind: PhantomData,
        }
    }

    /// Returns the document, if `trusted` signed it.
    pub fn open(
        &self,
        trusted: &PublicKey,
        checker: &mut SignatureChecker,
    ) -> Result<T, DocumentError> {
        if self.by != *trusted {
            return Err(DocumentError::WrongSigner(self.by.clone()));
        }
        let signed = SignedMessage {
            key: self.by.clone(),
            context: T::CONTEXT,
            message: message(&self.bytes),
            signature: self.signature,
        };
        if !checker.check(&signed) {
            return Err(DocumentError::BadSignature);
        }
        Ok(T::from_bytes(&self.bytes)?)
    }

    /// Returns the claimed, unchecked signer.
    pub fn signer(&self) -> &PublicKey {
        &self.by
    }

    /// Returns the hash of the document without its signature.
    pub fn hash(&self) -> Hash {
        message(&self.bytes)
    }
}

fn message(bytes: &[u8]) -> Hash {
    Hash::of(Domain::Document, &[bytes])
}

impl<T> Clone for SignedDocument<T> {
    fn clone(&self) -> Self {
        Self {
            bytes: self.bytes.clone(),
            by: self.by.clone(),
            signature: self.signature,
            kind: PhantomData,
        }
    }
}

impl<T> PartialEq for SignedDocument<T> {
    fn eq(&self, other: &Self) -> bool {
        (&self.bytes, &self.by, &self.signature) == (&other.bytes, &other.by, &other.signature)
    }
}

impl<T> Eq for SignedDocument<T> {}

impl<T> fmt::Debug for SignedDocument<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "SignedDocument({} bytes, by {})",
            self.bytes.len(),
            self.by
        )
    }
}

impl<T> Encode for SignedDocument<T> {
    fn encode(&self, e: &mut Encoder) {
        e.array(3);
        e.bytes(&self.bytes);
        self.by.encode(e);
        self.signature.encode(e);
    }
}

impl<T> Decode for SignedDocument<T> {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.expect_array(3)?;
        Ok(Self {
            bytes: d.bytes_within(DOCUMENT_BYTES_MAX)?.to_vec(),
            by: PublicKey::decode(d)?,
            signature: Signature::decode(d)?,
            kind: PhantomData,
        })
    }
}
