//! The foundation of all other crates: hashes, Merkle trees, the canonical codec, keys and signatures, times, error codes.
//!
//! Pure: it reads no clock, draws no randomness, touches neither disk nor network. Everything that is hashed or signed
//! anywhere in the project is hashed and signed here, under a named [`Domain`] or [`SignatureContext`], so that no byte string means two things.

mod checker;
pub mod codec;
pub mod collections;
mod domain;
mod error;
mod hash;
mod hasher;
pub mod hex;
mod keys;
mod merkle;
mod moment;
mod partial_tree;
mod quantity;
mod schema;
mod secret;
pub mod storage;
mod timestamp;

pub use checker::{
    CheckPortion, CheckWorkers, CheckedPortion, InlineChecks, KeyCounts, SignatureChecker,
    SignedMessage,
};
pub use codec::{ByteBuf, Decode, DecodeError, Decoder, Encode, Encoder};
pub use domain::Domain;
pub use error::{Coded, ERRORS, ErrorInfo};
pub use hash::{Hash, ParseHashError};
pub use hasher::Hasher;
pub use keys::{CompositeKey, KeyError, KeyPair, PublicKey, Scheme, Signature, SignatureContext};
pub use merkle::{MerkleError, MerkleProof, merkle_proofs, merkle_root};
pub use moment::{Moment, Monotonic};
pub use partial_tree::PartialTree;
pub use quantity::{OptionalQuantityInput, OptionalQuantityText, QuantityInput, QuantityText};
pub use secret::{Secret, SecretText, Seed};
pub use timestamp::{Timestamp, whole_ms};
