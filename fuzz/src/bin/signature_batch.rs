//! Ed25519 signatures of any bytes: the same verdict alone and in a batch.

#![no_main]

use libfuzzer_sys::fuzz_target;
use primitives::{
    Hash, PublicKey, Scheme, Signature, SignatureChecker, SignatureContext, SignedMessage,
};

fuzz_target!(|data: &[u8]| {
    let batch: Vec<SignedMessage> = data
        .as_chunks::<97>()
        .0
        .iter()
        .map(|bytes| SignedMessage {
            key: PublicKey::Ed25519(std::array::from_fn(|at| bytes[at])),
            context: SignatureContext::Transaction,
            message: Hash::plain(&bytes[96..]),
            signature: Signature::new(Scheme::Ed25519, std::array::from_fn(|at| bytes[32 + at])),
        })
        .collect();
    let mut checker = SignatureChecker::new();
    let alone: Vec<bool> = batch.iter().map(|signed| checker.check(signed)).collect();
    assert_eq!(checker.check_batch(&batch), alone);
});
