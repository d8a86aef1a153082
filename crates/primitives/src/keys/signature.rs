//! A signature, its scheme and the context that it is bound to.

use std::fmt;

use crate::{Decode, DecodeError, Decoder, Domain, Encode, Encoder, Hash, hex};

/// How a key signs. The numbers are part of the formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Scheme {
    /// Ed25519, verified by the rules of ZIP 215.
    Ed25519 = 1,
    /// ECDSA on P-256 with SHA-256, `s` in the lower half.
    EcdsaP256 = 2,
}

/// The purpose of a signature: a signature for one purpose is invalid for every other. The numbers are part of the
/// formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum SignatureContext {
    /// A transaction id, signed by a party.
    Transaction = 1,
    /// The root over the transaction ids of a notary's batch.
    NotaryBatch = 2,
    /// A request to a notary, signed by its sender.
    NotaryRequest = 3,
    /// A node info.
    NodeInfo = 4,
    /// Network parameters.
    NetworkParameters = 5,
    /// A contract descriptor.
    Descriptor = 6,
    /// A network map.
    NetworkMap = 7,
    /// A party's statement to one other that a key is its own, signed by the party's key and by the key itself.
    KeyOwnership = 8,
    /// A transaction of a chain.
    ChainTransaction = 9,
    /// The header of a chain's block.
    ChainBlock = 10,
    /// The rates of a chain's bundler.
    ChainRates = 11,
    /// A node's statement of how far its data has come.
    DataMark = 12,
}

/// The 64 bytes of a signature and its scheme.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Signature {
    scheme: Scheme,
    bytes: [u8; Signature::LENGTH],
}

impl Signature {
    /// Bytes of a signature, in either scheme.
    pub const LENGTH: usize = 64;

    /// Makes a signature from the bytes of its two parts: `R` and `s` of Ed25519, or `r` and `s` of ECDSA.
    #[must_use]
    pub const fn new(scheme: Scheme, bytes: [u8; Self::LENGTH]) -> Self {
        Self { scheme, bytes }
    }

    /// Returns its scheme.
    #[must_use]
    pub const fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Returns its bytes.
    #[must_use]
    pub const fn bytes(&self) -> &[u8; Self::LENGTH] {
        &self.bytes
    }

    /// Returns the signed hash: the message bound to the scheme and the context.
    #[must_use]
    pub fn signed_hash(scheme: Scheme, context: SignatureContext, message: &Hash) -> Hash {
        Hash::of(
            Domain::Signature,
            &[&[scheme as u8, context as u8], message.as_bytes()],
        )
    }
}

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}:{}", self.scheme, hex::encode(&self.bytes))
    }
}

impl Encode for Scheme {
    fn encode(&self, e: &mut Encoder) {
        e.u64(*self as u64);
    }
}

impl Decode for Scheme {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let offset = d.offset();
        match d.u64()? {
            1 => Ok(Self::Ed25519),
            2 => Ok(Self::EcdsaP256),
            tag => Err(DecodeError::UnknownVariant { offset, tag }),
        }
    }
}

impl Encode for SignatureContext {
    fn encode(&self, e: &mut Encoder) {
        e.u64(*self as u64);
    }
}

impl Decode for SignatureContext {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let offset = d.offset();
        Ok(match d.u64()? {
            1 => Self::Transaction,
            2 => Self::NotaryBatch,
            3 => Self::NotaryRequest,
            4 => Self::NodeInfo,
            5 => Self::NetworkParameters,
            6 => Self::Descriptor,
            7 => Self::NetworkMap,
            tag => return Err(DecodeError::UnknownVariant { offset, tag }),
        })
    }
}

crate::record!(Signature { scheme, bytes });
