//! Published vectors, which sign any message and not our 32 bytes: the verdicts in `testdata/signatures.json`.

use serde_json::Value;

use super::{bisect, cache, ed25519::Prepared, p256};
use crate::hex;

const VECTORS: &str = include_str!("../../../../testdata/signatures.json");

/// One published vector with the verdict that our rules give.
struct Vector {
    name: String,
    key: Vec<u8>,
    message: Vec<u8>,
    /// Nothing if it is not 64 bytes long: such a signature cannot be carried at all.
    signature: Option<[u8; 64]>,
    /// The verdict of the vectors' authors, where they give one.
    valid: Option<bool>,
    accepted: bool,
}

fn vectors(set: &str) -> Vec<Vector> {
    let document: Value = serde_json::from_str(VECTORS).expect("the file is JSON");
    let rows = document[set].as_array().expect("the set is a list");
    let bytes = |row: &Value, field: &str| {
        hex::decode(row[field].as_str().expect("a text")).expect("hexadecimal digits")
    };
    let vector = |row: &Value| Vector {
        name: format!("{set} {}", row["id"]),
        key: bytes(row, "key"),
        message: bytes(row, "message"),
        signature: bytes(row, "signature").try_into().ok(),
        valid: row["valid"].as_bool(),
        accepted: row["accepted"].as_bool().expect("a verdict"),
    };
    rows.iter().map(vector).collect()
}

fn prepared(vector: &Vector) -> Option<Prepared> {
    let key = vector.key.as_slice().try_into().expect("32 bytes");
    let point = cache::decode(key)?;
    Prepared::new(key, point, vector.signature.as_ref()?, &vector.message)
}

/// Judges each Ed25519 vector alone, all in one batch, and each with a valid neighbour.
fn check_ed25519(set: &str) {
    let vectors = vectors(set);
    let mut all = Vec::new();
    for (at, vector) in vectors.iter().enumerate() {
        let alone = prepared(vector).is_some_and(|prepared| prepared.holds());
        assert_eq!(alone, vector.accepted, "{} alone", vector.name);
        all.extend(prepared(vector).map(|prepared| (at, prepared)));
    }
    let mut verdicts = vec![false; vectors.len()];
    bisect::settle(&all, &mut verdicts);
    for (verdict, vector) in verdicts.iter().zip(&vectors) {
        assert_eq!(*verdict, vector.accepted, "{} in a batch", vector.name);
    }
    let good = vectors
        .iter()
        .find(|vector| vector.accepted)
        .expect("one is valid");
    for vector in &vectors {
        let pair = [good, vector].into_iter().enumerate();
        let pair: Vec<_> = pair
            .filter_map(|(at, vector)| Some((at, prepared(vector)?)))
            .collect();
        let mut verdicts = [false; 2];
        bisect::settle(&pair, &mut verdicts);
        assert_eq!(
            verdicts,
            [true, vector.accepted],
            "{} in a pair",
            vector.name
        );
    }
}

#[test]
fn speccheck_vectors_have_verdicts_of_zip_215() {
    check_ed25519("speccheck");
}

#[test]
fn wycheproof_ed25519_vectors_keep_their_verdicts() {
    check_ed25519("wycheproof_ed25519");
    // ZIP 215 ignores the sign bit of x = 0, which RFC 8032 refuses. No other verdict differs from the authors'.
    let differ: Vec<String> = vectors("wycheproof_ed25519")
        .into_iter()
        .filter(|vector| vector.valid != Some(vector.accepted))
        .map(|vector| vector.name)
        .collect();
    assert_eq!(differ, ["wycheproof_ed25519 151"]);
}

#[test]
fn wycheproof_p256_vectors_keep_their_verdicts_with_low_s() {
    for vector in vectors("wycheproof_p256") {
        let key: [u8; 33] = vector.key.as_slice().try_into().expect("33 bytes");
        let verdict = vector
            .signature
            .is_some_and(|signature| p256::check(&key, &signature, &vector.message));
        assert_eq!(verdict, vector.accepted, "{}", vector.name);
        // Only a larger `s` makes a valid signature unacceptable: each signature has one form. Half the order begins with 0x7f.
        let is_low = vector
            .signature
            .is_some_and(|signature| signature[32] < 0x7f);
        assert!(
            verdict || vector.valid == Some(false) || !is_low,
            "{}",
            vector.name
        );
    }
}
