//! Keys of accounts.

use chain::AccountId;
use primitives::{KeyPair, PublicKey};

/// Returns the account of a key pair.
pub(crate) fn account_of(key: &KeyPair) -> AccountId {
    AccountId::of_key(&ed25519(key))
}

/// Returns the public key of a key pair of the chain.
pub(crate) fn ed25519(key: &KeyPair) -> [u8; 32] {
    match key.public() {
        PublicKey::Ed25519(key) => *key,
        // Seeds and passphrases make no other keys.
        PublicKey::EcdsaP256(_) | PublicKey::Composite(_) => [0; 32],
    }
}
