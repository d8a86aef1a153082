//! Keys, and checks of signatures with their verdicts.

use ledger::OwnershipProof;
use primitives::{
    Hash, KeyPair, PublicKey, Scheme, Signature, SignatureChecker, SignatureContext, SignedMessage,
    hex,
};
use serde_json::{Value, json};

use crate::golden::cast::{ALICE, BOB, CAROL, NOTARY, committee, key, nested, pair, party};
use crate::golden::{decoded, encoded, entries, text};

const CONTEXTS: [SignatureContext; 8] = [
    SignatureContext::Transaction,
    SignatureContext::NotaryBatch,
    SignatureContext::NotaryRequest,
    SignatureContext::NodeInfo,
    SignatureContext::NetworkParameters,
    SignatureContext::Descriptor,
    SignatureContext::NetworkMap,
    SignatureContext::KeyOwnership,
];

/// A check as the files show it.
pub fn shown(signed: &SignedMessage, what: &str) -> Value {
    let scheme = signed.signature.scheme();
    json!({
        "what": what,
        "key": signed.key.to_text(),
        "scheme": scheme as u8,
        "context": signed.context as u8,
        "message": signed.message,
        "signed_hash": Signature::signed_hash(scheme, signed.context, &signed.message),
        "signature": hex::encode(signed.signature.bytes()),
        "valid": SignatureChecker::new().check(signed),
    })
}

fn signed(by: &KeyPair, context: SignatureContext, message: Hash) -> SignedMessage {
    SignedMessage {
        key: by.public().clone(),
        context,
        message,
        signature: by.sign(context, &message),
    }
}

fn with_bytes(base: &SignedMessage, change: impl Fn(&mut [u8; 64])) -> SignedMessage {
    let mut bytes = *base.signature.bytes();
    change(&mut bytes);
    SignedMessage {
        signature: Signature::new(base.signature.scheme(), bytes),
        ..base.clone()
    }
}

/// Makes a check of any encoded point as an Ed25519 key, with a signature of `R` and `s = 0`.
fn torsion(key: &str, commitment: &str) -> SignedMessage {
    let mut bytes = [0; 64];
    bytes[..32].copy_from_slice(&hex::decode_array::<32>(commitment).expect("32 bytes"));
    SignedMessage {
        key: PublicKey::Ed25519(hex::decode_array(key).expect("32 bytes")),
        context: SignatureContext::Transaction,
        message: Hash::plain(b"anything"),
        signature: Signature::new(Scheme::Ed25519, bytes),
    }
}

/// The neutral point; then the same with the sign bit, then with `y = p + 1`: encodings that RFC 8032 refuses.
const NEUTRAL: [&str; 3] = [
    "0100000000000000000000000000000000000000000000000000000000000000",
    "0100000000000000000000000000000000000000000000000000000000000080",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
];
/// A point of order 8.
const ORDER_8: &str = "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a";
/// No point at all.
const NO_POINT: &str = "0200000000000000000000000000000000000000000000000000000000000000";

pub fn vectors() -> Value {
    let pairs: Vec<Value> = [ALICE, BOB, CAROL, NOTARY]
        .iter()
        .map(|person| {
            let seed = hex::encode(&[*person; 32]);
            let (text, encoding) = (key(*person).to_text(), encoded(&key(*person)));
            json!({ "seed": seed, "scheme": pair(*person).scheme() as u8, "key": text, "encoding": encoding })
        })
        .collect();
    let composites: Vec<Value> = [("committee", committee()), ("nested", nested())]
        .iter()
        .map(|(name, key)| {
            let leaves: Vec<String> = key.leaf_keys().iter().map(PublicKey::to_text).collect();
            json!({ "name": name, "encoding": encoded(key), "leaves": leaves })
        })
        .collect();
    let fulfilment: Vec<Value> = [
        ("committee", vec![ALICE]),
        ("committee", vec![ALICE, BOB]),
        ("committee", vec![CAROL]),
        ("committee", vec![NOTARY, ALICE]),
        ("nested", vec![NOTARY]),
        ("nested", vec![CAROL]),
        ("nested", vec![NOTARY, CAROL]),
        ("nested", vec![NOTARY, ALICE, BOB]),
        ("nested", vec![ALICE, BOB, CAROL]),
    ]
    .iter()
    .map(|(name, people)| {
        let whole = if *name == "nested" {
            nested()
        } else {
            committee()
        };
        let keys: Vec<PublicKey> = people.iter().map(|person| key(*person)).collect();
        let signers = keys.iter().collect();
        let texts: Vec<String> = people.iter().map(|person| key(*person).to_text()).collect();
        json!({ "key": name, "signers": texts, "fulfilled": whole.is_fulfilled_by(&signers) })
    })
    .collect();
    json!({
        "pairs": pairs,
        "composites": composites,
        "fulfilment": fulfilment,
        "checks": checks(),
        "fresh": fresh(),
    })
}

/// Fresh keys with Alice's proofs to Bob.
fn fresh() -> Vec<Value> {
    let (alice, bob) = (party(ALICE), party(BOB));
    let shown = |number: u64| {
        let fresh = pair(ALICE).derive(number);
        let proof = OwnershipProof::make(&fresh, &pair(ALICE), alice.id(), bob.id());
        let message = OwnershipProof::message(fresh.public(), &alice.id(), &bob.id());
        json!({
            "number": number,
            "key": fresh.public().to_text(),
            "owner": alice.id(),
            "audience": bob.id(),
            "message": message,
            "proof": encoded(&proof),
        })
    };
    [0, 1, 1_000_000].into_iter().map(shown).collect()
}

fn checks() -> Vec<Value> {
    let message = Hash::plain(b"a message");
    let mut checks = Vec::new();
    for context in CONTEXTS {
        for person in [ALICE, BOB] {
            checks.push(shown(
                &signed(&pair(person), context, message),
                "as it should be",
            ));
        }
    }
    for person in [ALICE, BOB] {
        let good = signed(&pair(person), SignatureContext::Transaction, message);
        let other_context = SignedMessage {
            context: SignatureContext::NotaryBatch,
            ..good.clone()
        };
        let other_message = SignedMessage {
            message: Hash::ZERO,
            ..good.clone()
        };
        let other_key = SignedMessage {
            key: key(CAROL),
            ..good.clone()
        };
        checks.push(shown(&other_context, "made in another context"));
        checks.push(shown(&other_message, "made over another message"));
        checks.push(shown(&other_key, "made by another key"));
        checks.push(shown(
            &with_bytes(&good, |bytes| bytes[10] ^= 1),
            "R damaged",
        ));
        checks.push(shown(
            &with_bytes(&good, |bytes| bytes[40] ^= 1),
            "s damaged",
        ));
    }
    let alice = signed(&pair(ALICE), SignatureContext::Transaction, message);
    let bob = signed(&pair(BOB), SignatureContext::Transaction, message);
    checks.push(shown(
        &with_bytes(&alice, add_order_of_ed25519),
        "s not below the order",
    ));
    checks.push(shown(
        &with_bytes(&bob, negate_s_of_p256),
        "s in the upper half",
    ));
    for encoding in NEUTRAL.into_iter().chain([ORDER_8]) {
        checks.push(shown(
            &torsion(encoding, ORDER_8),
            "a key of small order: ZIP 215 accepts",
        ));
        checks.push(shown(
            &torsion(ORDER_8, encoding),
            "R of small order: ZIP 215 accepts",
        ));
    }
    checks.push(shown(&torsion(NO_POINT, ORDER_8), "a key that is no point"));
    checks.push(shown(&torsion(ORDER_8, NO_POINT), "R that is no point"));
    checks
}

/// Adds the order of the group to `s`, little-endian.
fn add_order_of_ed25519(bytes: &mut [u8; 64]) {
    const ORDER: &str = "edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010";
    let order = hex::decode_array::<32>(ORDER).expect("32 bytes");
    let mut carry = 0;
    for (byte, order) in bytes[32..].iter_mut().zip(order) {
        let sum = u16::from(*byte) + u16::from(order) + carry;
        *byte = sum as u8;
        carry = sum >> 8;
    }
}

/// Takes `s` from the order of the group, big-endian.
fn negate_s_of_p256(bytes: &mut [u8; 64]) {
    const ORDER: &str = "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551";
    let order = hex::decode_array::<32>(ORDER).expect("32 bytes");
    let mut borrow = 0;
    for (byte, order) in bytes[32..].iter_mut().zip(order).rev() {
        let difference = i16::from(order) - i16::from(*byte) - borrow;
        *byte = difference as u8;
        borrow = i16::from(difference < 0);
    }
}

pub fn check(file: &Value) {
    for entry in entries(file, "pairs") {
        let key: PublicKey = decoded(entry, "encoding");
        assert_eq!(key.to_text(), text(entry, "key"));
    }
    for entry in entries(file, "composites") {
        decoded::<PublicKey>(entry, "encoding");
    }
    for entry in entries(file, "fresh") {
        let proof: OwnershipProof = decoded(entry, "proof");
        assert_eq!(proof.key.to_text(), text(entry, "key"));
    }
    assert!(
        entries(file, "checks")
            .iter()
            .any(|entry| entry["valid"] == false)
    );
}
