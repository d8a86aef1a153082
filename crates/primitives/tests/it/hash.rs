//! SHA-256 over parts agrees with the standard and with the one-shot function of `sha2`, at every length and split.

use primitives::{Domain, Hash, Hasher, hex};
use proptest::prelude::*;
use sha2::{Digest, Sha256};

fn reference(bytes: &[u8]) -> Hash {
    Hash::from_bytes(Sha256::digest(bytes).into())
}

#[test]
fn published_vectors() {
    // FIPS 180-4 examples.
    let check = |content: &str, hash: &str| {
        assert_eq!(Hash::plain(content.as_bytes()).to_string(), hash);
        assert_eq!(hash.parse(), Ok(Hash::plain(content.as_bytes())));
    };
    check(
        "",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    );
    check(
        "abc",
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    );
    check(
        "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
    );
}

#[test]
fn every_length_around_the_blocks() {
    let content: Vec<u8> = (0..400u32).map(|at| at as u8).collect();
    for length in 0..400 {
        let bytes = &content[..length];
        assert_eq!(Hash::plain(bytes), reference(bytes), "{length}");
        let with_domain = [&[Domain::Leaf as u8], bytes].concat();
        let (first, second) = bytes.split_at(length / 3);
        assert_eq!(
            Hash::of(Domain::Leaf, &[first, second]),
            reference(&with_domain),
            "{length}"
        );
    }
}

#[test]
fn text() {
    for wrong in [
        "",
        "00",
        &"0".repeat(63),
        &"0".repeat(65),
        &"g".repeat(64),
        &"é".repeat(32),
    ] {
        assert!(wrong.parse::<Hash>().is_err(), "{wrong}");
    }
    assert_eq!("0".repeat(64).parse(), Ok(Hash::ZERO));
    assert_eq!(hex::decode("0aFF"), Some(vec![10, 255]));
    assert_eq!(hex::encode(&[10, 255]), "0aff");
    assert_eq!(hex::decode("0"), None);
    assert_eq!(hex::decode_array::<2>("0aff"), Some([10, 255]));
    assert_eq!(hex::decode_array::<3>("0aff"), None);
    let json = serde_json::to_string(&Hash::ZERO).unwrap_or_default();
    assert_eq!(json, format!("\"{}\"", "0".repeat(64)));
    assert_eq!(serde_json::from_str::<Hash>(&json).ok(), Some(Hash::ZERO));
}

proptest! {
    #![proptest_config(properties::config!(256))]

    #[test]
    fn any_pieces(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..8)) {
        let mut hasher = Hasher::new();
        for piece in &pieces {
            hasher.update(piece);
        }
        prop_assert_eq!(hasher.finish(), reference(&pieces.concat()));
        let parts: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
        let mut with_domain = vec![Domain::Node as u8];
        with_domain.extend(pieces.concat());
        prop_assert_eq!(Hash::of(Domain::Node, &parts), reference(&with_domain));
    }
}
