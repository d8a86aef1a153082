//! Verdicts on Ed25519 signatures, against two libraries: `ed25519-zebra` follows the same rules (ZIP 215) alone and in a
//! batch, and `aws-lc-rs` has arithmetic of its own and stricter rules. Keys and points come malformed as well as sound.

#![no_main]

use aws_lc_rs::signature::{ED25519, UnparsedPublicKey};
use curve25519_dalek::constants::EIGHT_TORSION;
use curve25519_dalek::edwards::{CompressedEdwardsY, EdwardsPoint};
use curve25519_dalek::scalar::Scalar;
use ed25519_zebra::{Signature as ZebraSignature, VerificationKey, batch};
use fuzz::Coefficients;
use libfuzzer_sys::fuzz_target;
use primitives::{
    Hash, PublicKey, Scheme, Signature, SignatureChecker, SignatureContext, SignedMessage,
};
use sha2::{Digest, Sha512};

const CONTEXT: SignatureContext = SignatureContext::Transaction;
/// Bytes of input that make one signature.
const ROW: usize = 72;

fuzz_target!(|data: &[u8]| {
    let batch: Vec<SignedMessage> = data.as_chunks::<ROW>().0.iter().map(signed).collect();
    let mut checker = SignatureChecker::with_capacity(4);
    let alone: Vec<bool> = batch.iter().map(|signed| checker.check(signed)).collect();
    assert_eq!(checker.check_batch(&batch), alone, "alone and in a batch");
    let mut zebra_batch = batch::Verifier::new();
    for (signed, verdict) in batch.iter().zip(&alone) {
        let (key, hash) = parts(signed);
        let signature = ZebraSignature::from_bytes(signed.signature.bytes());
        let zebra = VerificationKey::try_from(key)
            .is_ok_and(|key| key.verify(&signature, hash.as_bytes()).is_ok());
        assert_eq!(*verdict, zebra, "ed25519-zebra alone");
        zebra_batch.queue((key.into(), signature, hash.as_bytes()));
        compare_with_aws(signed, *verdict);
    }
    let all = zebra_batch.verify(Coefficients::from(Hash::plain(data)));
    assert_eq!(
        all.is_ok(),
        alone.iter().all(|verdict| *verdict),
        "ed25519-zebra in a batch"
    );
});

/// The strict library accepts nothing that we refuse. If the key and `R` are canonical and have no torsion, it accepts
/// everything that we accept.
fn compare_with_aws(signed: &SignedMessage, verdict: bool) {
    let (key, hash) = parts(signed);
    let signature = signed.signature.bytes();
    let strict = UnparsedPublicKey::new(&ED25519, key)
        .verify(hash.as_bytes(), signature)
        .is_ok();
    let plain = |bytes: &[u8]| {
        let Ok(compressed) = CompressedEdwardsY::from_slice(bytes) else {
            return false;
        };
        compressed
            .decompress()
            .is_some_and(|point| point.is_torsion_free() && point.compress() == compressed)
    };
    assert!(
        verdict || !strict,
        "aws-lc-rs accepts a signature that we refuse"
    );
    if plain(&key) && plain(&signature[..32]) {
        assert_eq!(verdict, strict, "aws-lc-rs on points of the main group");
    }
}

fn parts(signed: &SignedMessage) -> ([u8; 32], Hash) {
    let PublicKey::Ed25519(key) = signed.key else {
        unreachable!("every row makes an Ed25519 key")
    };
    let hash = Signature::signed_hash(Scheme::Ed25519, CONTEXT, &signed.message);
    (key, hash)
}

/// Makes a signature of a row: `kind 1 | torsion 1 | change 1 | place 1 | secret 2 | nonce 2 | 64 bytes`. The secrets are small,
/// so that keys repeat within a batch.
fn signed(row: &[u8; ROW]) -> SignedMessage {
    let message = Hash::plain(&row[6..8]);
    let secret = Scalar::from(u16::from_be_bytes([row[4], row[5]]));
    let nonce = Scalar::from(u16::from_be_bytes([row[6], row[7]]));
    let torsion = |bits: u8| EIGHT_TORSION[usize::from(bits % 8)];
    let mut key = (EdwardsPoint::mul_base(&secret) + torsion(row[1]))
        .compress()
        .0;
    let mut commitment = (EdwardsPoint::mul_base(&nonce) + torsion(row[1] >> 3))
        .compress()
        .0;
    let bytes = |from: usize| std::array::from_fn(|at| row[from + at]);
    match row[0] % 5 {
        1 => key = bytes(8),
        2 => commitment = bytes(8),
        3 => (key, commitment) = (bytes(8), bytes(40)),
        _ => {}
    }
    let hash = Signature::signed_hash(Scheme::Ed25519, CONTEXT, &message);
    let challenge = Sha512::new()
        .chain_update(commitment)
        .chain_update(key)
        .chain_update(hash.as_bytes())
        .finalize();
    let challenge = Scalar::from_bytes_mod_order_wide(&challenge.into());
    let mut signature = [0; 64];
    signature[..32].copy_from_slice(&commitment);
    signature[32..].copy_from_slice(&(nonce + challenge * secret).to_bytes());
    if row[0] % 5 == 4 {
        signature[32..].copy_from_slice(&row[8..40]);
    }
    signature[usize::from(row[3] % 64)] ^= row[2];
    SignedMessage {
        key: PublicKey::Ed25519(key),
        context: CONTEXT,
        message,
        signature: Signature::new(Scheme::Ed25519, signature),
    }
}
