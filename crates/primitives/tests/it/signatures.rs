//! Signatures: bound to scheme, context and message; the same verdict alone and in any batch, and that of ZIP 215.

use curve25519_dalek::constants::EIGHT_TORSION;
use curve25519_dalek::edwards::{CompressedEdwardsY, EdwardsPoint};
use curve25519_dalek::scalar::Scalar;
use ed25519_zebra::{Signature as ZebraSignature, VerificationKey};
use p256::ecdsa::signature::Verifier as _;
use primitives::{
    CheckPortion, CheckWorkers, CheckedPortion, CompositeKey, Domain, Hash, KeyPair, PublicKey,
    Scheme, Signature, SignatureChecker, SignatureContext, SignedMessage, hex,
};
use proptest::prelude::*;
use sha2::{Digest, Sha512};

const CONTEXT: SignatureContext = SignatureContext::Transaction;

fn message(number: u32) -> Hash {
    Hash::of(Domain::TransactionId, &[&number.to_be_bytes()])
}

fn signed(scheme: Scheme, key: u8, number: u32) -> SignedMessage {
    let pair = KeyPair::from_seed(scheme, [key; 32]);
    SignedMessage {
        key: pair.public().clone(),
        context: CONTEXT,
        message: message(number),
        signature: pair.sign(CONTEXT, &message(number)),
    }
}

fn ed25519(key: [u8; 32], commitment: [u8; 32], response: [u8; 32], number: u32) -> SignedMessage {
    let mut bytes = [0; 64];
    bytes[..32].copy_from_slice(&commitment);
    bytes[32..].copy_from_slice(&response);
    SignedMessage {
        key: PublicKey::Ed25519(key),
        context: CONTEXT,
        message: message(number),
        signature: Signature::new(Scheme::Ed25519, bytes),
    }
}

/// The verdict of `ed25519-zebra` on one signature.
fn zebra(signed: &SignedMessage) -> bool {
    let PublicKey::Ed25519(key) = signed.key else {
        return false;
    };
    let hash = Signature::signed_hash(Scheme::Ed25519, signed.context, &signed.message);
    let signature = ZebraSignature::from_bytes(signed.signature.bytes());
    VerificationKey::try_from(key)
        .and_then(|key| key.verify(&signature, hash.as_bytes()))
        .is_ok()
}

/// Alone, in a batch of all, and in batches with a good and a bad neighbour.
fn check_all(batch: &[SignedMessage], expected: &[bool]) {
    let mut checker = SignatureChecker::new();
    let alone: Vec<bool> = batch.iter().map(|signed| checker.check(signed)).collect();
    assert_eq!(alone, expected);
    assert_eq!(checker.check_batch(batch), expected);
    assert_eq!(
        SignatureChecker::with_capacity(2).check_batch(batch),
        expected
    );
}

#[test]
fn known_keys_and_signatures() {
    // RFC 8032, 7.1, test 1.
    let seed = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
    let public = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
    let Some(seed) = hex::decode_array(seed) else {
        panic!("a seed");
    };
    let pair = KeyPair::from_seed(Scheme::Ed25519, seed);
    assert_eq!(pair.public().to_text(), format!("ed25519:{public}"));
    assert!(!format!("{pair:?}").contains("9d61"));
    for scheme in [Scheme::Ed25519, Scheme::EcdsaP256] {
        let pair = KeyPair::from_seed(scheme, seed);
        assert_eq!(
            pair.sign(CONTEXT, &message(1)),
            pair.clone().sign(CONTEXT, &message(1))
        );
        assert_eq!(pair.scheme(), scheme);
    }
}

#[test]
fn bound_to_everything() {
    for scheme in [Scheme::Ed25519, Scheme::EcdsaP256] {
        let good = signed(scheme, 1, 1);
        let check = |change: &dyn Fn(&mut SignedMessage), expected: bool| {
            let mut changed = good.clone();
            change(&mut changed);
            check_all(
                &[good.clone(), changed, good.clone()],
                &[true, expected, true],
            );
        };
        let other_scheme = match scheme {
            Scheme::Ed25519 => Scheme::EcdsaP256,
            Scheme::EcdsaP256 => Scheme::Ed25519,
        };
        check(&|_| {}, true);
        check(&|signed| signed.message = message(2), false);
        check(
            &|signed| signed.context = SignatureContext::NotaryBatch,
            false,
        );
        check(
            &|signed| signed.key = KeyPair::from_seed(scheme, [2; 32]).public().clone(),
            false,
        );
        check(
            &|signed| signed.key = KeyPair::from_seed(other_scheme, [1; 32]).public().clone(),
            false,
        );
        check(
            &|signed| signed.signature = Signature::new(other_scheme, *signed.signature.bytes()),
            false,
        );
        check(
            &|signed| signed.signature = Signature::new(scheme, [0; 64]),
            false,
        );
        check(
            &|signed| signed.signature = Signature::new(scheme, [255; 64]),
            false,
        );
        check(
            &|signed| match CompositeKey::new(1, vec![(1, signed.key.clone())]) {
                Ok(composite) => signed.key = PublicKey::Composite(composite.into()),
                Err(error) => panic!("{error}"),
            },
            false,
        );
        for bit in (0..512).step_by(37) {
            check(
                &|signed| {
                    let mut bytes = *signed.signature.bytes();
                    bytes[bit / 8] ^= 1 << (bit % 8);
                    signed.signature = Signature::new(scheme, bytes);
                },
                false,
            );
        }
    }
}

/// An ECDSA signature has two forms; only the one with the lower `s` is accepted.
#[test]
fn p256_has_one_form() {
    for number in 0..8 {
        let good = signed(Scheme::EcdsaP256, 3, number);
        let Ok(signature) = p256::ecdsa::Signature::from_slice(good.signature.bytes()) else {
            panic!("a signature");
        };
        let (r, s) = (signature.r(), signature.s());
        let Ok(other) = p256::ecdsa::Signature::from_scalars(r.to_bytes(), (-s).to_bytes()) else {
            panic!("the other form");
        };
        let mut high = good.clone();
        high.signature = Signature::new(Scheme::EcdsaP256, other.to_bytes().into());
        check_all(&[good, high], &[true, false]);
    }
}

/// The verdict of the `p256` crate, which must be ours.
fn p256_crate(signed: &SignedMessage) -> bool {
    let PublicKey::EcdsaP256(key) = signed.key else {
        return false;
    };
    let Ok(key) = p256::ecdsa::VerifyingKey::from_sec1_bytes(&key) else {
        return false;
    };
    let Ok(signature) = p256::ecdsa::Signature::from_slice(signed.signature.bytes()) else {
        return false;
    };
    let hash = Signature::signed_hash(Scheme::EcdsaP256, signed.context, &signed.message);
    signature.normalize_s() == signature && key.verify(hash.as_bytes(), &signature).is_ok()
}

/// Keys that are no point, and `r` and `s` at the ends of their range.
#[test]
fn p256_edges() {
    let good = signed(Scheme::EcdsaP256, 3, 1);
    let order = "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551";
    let half = "7fffffff800000007fffffffffffffffde737d56d38bcf4279dce5617e3192a8";
    let ends: Vec<[u8; 32]> = [&"0".repeat(64), order, half, &"f".repeat(64)]
        .iter()
        .filter_map(|digits| hex::decode_array(digits))
        .collect();
    assert_eq!(ends.len(), 4);
    let mut batch = Vec::new();
    for end in &ends {
        for at in [0, 32] {
            let mut bytes = *good.signature.bytes();
            bytes[at..at + 32].copy_from_slice(end);
            let signature = Signature::new(Scheme::EcdsaP256, bytes);
            batch.push(SignedMessage {
                signature,
                ..good.clone()
            });
        }
    }
    for first in [0, 2, 3, 4, 5, 6] {
        for x in [[0; 32], [5; 32], [255; 32]] {
            let mut bytes = [first; 33];
            bytes[1..].copy_from_slice(&x);
            let key = PublicKey::EcdsaP256(bytes);
            batch.push(SignedMessage {
                key,
                ..good.clone()
            });
        }
    }
    assert!(!batch.iter().any(p256_crate));
    check_all(&batch, &vec![false; batch.len()]);
}

/// `2^255 - 19 + offset` in little-endian bytes, with the sign bit or not.
fn above_the_prime(offset: u8, sign: bool) -> [u8; 32] {
    let mut bytes = [255; 32];
    bytes[0] = 237 + offset;
    bytes[31] = if sign { 255 } else { 127 };
    bytes
}

/// All encodings of points whose `y` is not reduced, and those of `x = 0` with the sign bit set.
fn non_canonical_encodings() -> Vec<[u8; 32]> {
    let mut encodings: Vec<[u8; 32]> = (0..19)
        .flat_map(|offset| [false, true].map(|sign| above_the_prime(offset, sign)))
        .filter(|bytes| CompressedEdwardsY(*bytes).decompress().is_some())
        .collect();
    let mut one = [0; 32];
    one[0] = 1;
    one[31] = 128;
    let mut minus_one = above_the_prime(0, true);
    minus_one[0] = 236;
    for encoding in [one, minus_one] {
        assert!(CompressedEdwardsY(encoding).decompress().is_some());
        encodings.push(encoding);
    }
    encodings
}

fn small_order_encodings() -> Vec<[u8; 32]> {
    let non_canonical = non_canonical_encodings().into_iter().filter(|bytes| {
        let point = CompressedEdwardsY(*bytes).decompress();
        point.is_some_and(|point| point.is_small_order())
    });
    EIGHT_TORSION
        .iter()
        .map(|point| point.compress().to_bytes())
        .chain(non_canonical)
        .collect()
}

/// ZIP 215: keys and commitments of small order, in any encoding, verify everything with `s = 0`.
#[test]
fn small_order_and_non_canonical() {
    assert_eq!(non_canonical_encodings().len(), 26);
    let small = small_order_encodings();
    assert_eq!(small.len(), 14);
    let mut batch = Vec::new();
    for key in &small {
        for commitment in &small {
            batch.push(ed25519(*key, *commitment, [0; 32], batch.len() as u32));
        }
    }
    assert!(batch.iter().all(zebra));
    check_all(&batch, &[true; 196]);
    // Every other encoding as key and as commitment: the verdict must be the same everywhere, whether it accepts
    // or refuses.
    let mut odd = Vec::new();
    for encoding in non_canonical_encodings() {
        odd.push(ed25519(encoding, small[0], [0; 32], 1));
        odd.push(ed25519(small[1], encoding, [0; 32], 1));
    }
    let expected: Vec<bool> = odd.iter().map(zebra).collect();
    check_all(&odd, &expected);
}

/// A signature made with points of mixed order, which the equation without the cofactor would refuse.
fn mixed_order(
    secret: u64,
    nonce: u64,
    key_torsion: usize,
    torsion: usize,
    number: u32,
) -> SignedMessage {
    let (secret, nonce) = (Scalar::from(secret), Scalar::from(nonce));
    let key = (EdwardsPoint::mul_base(&secret) + EIGHT_TORSION[key_torsion % 8]).compress();
    let commitment = (EdwardsPoint::mul_base(&nonce) + EIGHT_TORSION[torsion % 8]).compress();
    let hash = Signature::signed_hash(Scheme::Ed25519, CONTEXT, &message(number));
    let challenge = Sha512::new()
        .chain_update(commitment.as_bytes())
        .chain_update(key.as_bytes())
        .chain_update(hash.as_bytes())
        .finalize();
    let challenge = Scalar::from_bytes_mod_order_wide(&challenge.into());
    let response = nonce + challenge * secret;
    ed25519(
        key.to_bytes(),
        commitment.to_bytes(),
        response.to_bytes(),
        number,
    )
}

/// `s` at and above the order of the group.
#[test]
fn response_below_the_order() {
    let good = mixed_order(5, 7, 0, 0, 1);
    let Some((commitment, response)) = good.signature.bytes().split_first_chunk::<32>() else {
        panic!("64 bytes");
    };
    let Some(order) =
        hex::decode_array::<32>("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010")
    else {
        panic!("32 bytes");
    };
    let mut above = [0u8; 32];
    let mut carry = 0u16;
    for at in 0..32 {
        let sum = u16::from(response[at]) + u16::from(order[at]) + carry;
        above[at] = sum as u8;
        carry = sum >> 8;
    }
    let PublicKey::Ed25519(key) = good.key else {
        panic!("an Ed25519 key");
    };
    check_all(
        &[
            good.clone(),
            ed25519(key, *commitment, above, 1),
            ed25519(key, *commitment, order, 1),
        ],
        &[true, false, false],
    );
}

#[test]
fn batches_of_every_size_with_bad_ones_anywhere() {
    let good: Vec<SignedMessage> = (0..70)
        .map(|number| signed(Scheme::Ed25519, (number % 7) as u8, number))
        .collect();
    let mut checker = SignatureChecker::new();
    assert!(checker.check_batch(&[]).is_empty());
    for size in 1..=good.len() {
        for bad in [None, Some(0), Some(size / 2), Some(size - 1)] {
            let mut batch = good[..size].to_vec();
            let mut expected = vec![true; size];
            if let Some(at) = bad {
                batch[at].message = Hash::ZERO;
                expected[at] = false;
            }
            assert_eq!(checker.check_batch(&batch), expected, "{size} {bad:?}");
        }
    }
}

/// More than one equation's worth.
#[test]
fn long_batch() {
    let few: Vec<SignedMessage> = (0..16)
        .map(|number| signed(Scheme::Ed25519, number as u8, number))
        .collect();
    let mut batch: Vec<SignedMessage> = few.iter().cloned().cycle().take(2100).collect();
    let mut expected = vec![true; batch.len()];
    for at in [3, 1023, 1024, 2099] {
        batch[at].message = Hash::ZERO;
        expected[at] = false;
    }
    assert_eq!(SignatureChecker::new().check_batch(&batch), expected);
}

/// Checks each portion on a thread of its own. The last one is begun first.
struct Threads(usize);

impl CheckWorkers for Threads {
    fn threads(&self) -> usize {
        self.0
    }

    fn check(&self, portions: Vec<CheckPortion>) -> Vec<CheckedPortion> {
        assert!(portions.len() <= 2 * self.0);
        std::thread::scope(|scope| {
            let begin = |portion: CheckPortion| scope.spawn(|| portion.check());
            let mut begun: Vec<_> = portions.into_iter().rev().map(begin).collect();
            begun.reverse();
            let end = |thread: std::thread::ScopedJoinHandle<'_, _>| thread.join();
            let checked = begun.into_iter().map(end);
            checked.map(|checked| checked.expect("no panic")).collect()
        })
    }
}

#[test]
fn verdicts_do_not_depend_on_the_number_of_threads() {
    let schemes = [Scheme::Ed25519, Scheme::Ed25519, Scheme::EcdsaP256];
    let few: Vec<SignedMessage> = (0..12)
        .map(|number| signed(schemes[number as usize % 3], number as u8, number))
        .collect();
    for size in [0, 1, 127, 128, 255, 256, 257, 700, 2_100] {
        let mut batch: Vec<SignedMessage> = few.iter().cloned().cycle().take(size).collect();
        let mut expected = vec![true; size];
        for at in [0, 127, 128, 256, 1_024, 2_099] {
            if at < size {
                batch[at].message = Hash::ZERO;
                expected[at] = false;
            }
        }
        for threads in [1, 2, 3, 16] {
            let mut checker = SignatureChecker::new();
            for _ in 0..2 {
                let verdicts = checker.check_batch_on(batch.clone(), size, &Threads(threads));
                assert_eq!(verdicts, expected, "{size} on {threads}");
            }
            let keys = few.iter().take(size);
            let keys = keys.filter(|one| one.signature.scheme() == Scheme::Ed25519);
            let bytes = keys.count() * SignatureChecker::KEY_BYTES;
            assert_eq!(checker.key_bytes(), bytes, "{size} on {threads}");
        }
    }
}

#[test]
fn a_key_that_is_no_point_is_not_kept() {
    let mut no_point = [0; 32];
    no_point[0] = 2;
    let mut bad = signed(Scheme::Ed25519, 1, 1);
    bad.key = PublicKey::Ed25519(no_point);
    let mut checker = SignatureChecker::new();
    assert_eq!(checker.check_batch(&[bad.clone(), bad]), [false, false]);
    assert_eq!(checker.key_bytes(), 0);
}

/// One signature of a mixture: sound, small, mixed, damaged, of the other scheme, or any bytes.
fn any_signed() -> impl Strategy<Value = SignedMessage> {
    let encodings = || {
        let mut encodings = small_order_encodings();
        encodings.extend(non_canonical_encodings());
        encodings.push([2; 32]);
        prop::sample::select(encodings)
    };
    prop_oneof![
        4 => (0u8..5, any::<u32>()).prop_map(|(key, number)| signed(Scheme::Ed25519, key, number)),
        1 => (0u8..2, 0u32..3).prop_map(|(key, number)| signed(Scheme::EcdsaP256, key, number)),
        1 => (0u8..2, 0usize..64, 0u8..).prop_map(|(key, at, change)| {
            let mut damaged = signed(Scheme::EcdsaP256, key, 1);
            let mut bytes = *damaged.signature.bytes();
            bytes[at] ^= change;
            damaged.signature = Signature::new(Scheme::EcdsaP256, bytes);
            damaged
        }),
        2 => (encodings(), encodings(), any::<u32>()).prop_map(|(key, r, number)| ed25519(key, r, [0; 32], number)),
        2 => (1u64.., any::<u64>(), 0usize..8, 0usize..8, any::<u32>())
            .prop_map(|(a, r, s, t, number)| mixed_order(a, r, s, t, number)),
        2 => (0u8..5, any::<u32>(), 0usize..64, 1u8..).prop_map(|(key, number, at, change)| {
            let mut damaged = signed(Scheme::Ed25519, key, number);
            let mut bytes = *damaged.signature.bytes();
            bytes[at] ^= change;
            damaged.signature = Signature::new(Scheme::Ed25519, bytes);
            damaged
        }),
        1 => (any::<[u8; 32]>(), any::<[u8; 32]>(), any::<[u8; 32]>()).prop_map(|(key, r, s)| ed25519(key, r, s, 0)),
    ]
}

proptest! {
    #![proptest_config(properties::config!(200))]

    #[test]
    fn same_verdict_everywhere(batch in prop::collection::vec(any_signed(), 1..20)) {
        let mut checker = SignatureChecker::new();
        let alone: Vec<bool> = batch.iter().map(|signed| checker.check(signed)).collect();
        for (signed, verdict) in batch.iter().zip(&alone) {
            if signed.signature.scheme() == Scheme::Ed25519 {
                prop_assert_eq!(*verdict, zebra(signed));
            } else {
                prop_assert_eq!(*verdict, p256_crate(signed));
            }
        }
        check_all(&batch, &alone);
    }

    #[test]
    fn mixed_order_is_accepted(a in 1u64.., r in any::<u64>(), s in 0usize..8, t in 0usize..8) {
        let mixed = mixed_order(a, r, s, t, 9);
        prop_assert!(zebra(&mixed));
        check_all(&[mixed.clone(), mixed], &[true, true]);
    }
}
