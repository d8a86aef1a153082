//! ECDSA on P-256, checked one by one.

use p256::ecdsa::signature::Verifier as _;
use p256::ecdsa::{Signature, VerifyingKey};

use super::SignedMessage;

/// Whether the signature is valid, with `s` in the lower half: of the two forms each signature has, one is accepted.
pub(super) fn check(key: &[u8; 33], signed: &SignedMessage) -> bool {
    let Ok(key) = VerifyingKey::from_sec1_bytes(key) else {
        return false;
    };
    let Ok(signature) = Signature::from_slice(signed.signature.bytes()) else {
        return false;
    };
    signature.normalize_s() == signature
        && key
            .verify(signed.signed_hash().as_bytes(), &signature)
            .is_ok()
}
