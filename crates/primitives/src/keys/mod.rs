//! Keys and signatures: two schemes, and composite keys over both.

mod key_error;
mod key_pair;
mod public_key;
mod signature;

pub use key_error::KeyError;
pub use key_pair::KeyPair;
pub use public_key::{CompositeKey, PublicKey};
pub use signature::{Scheme, Signature, SignatureContext};
