//! The codec: written values are read back, and nothing else is read.

use std::collections::{BTreeMap, BTreeSet};

use primitives::{
    Coded, Decode, DecodeError, Decoder, ERRORS, Encode, Encoder, Hash, PublicKey, record, variants,
};
use proptest::prelude::*;

/// One field of every kind there is.
#[derive(Clone, Debug, PartialEq)]
struct Sample {
    small: u8,
    medium: u16,
    number: u32,
    big: u64,
    signed: i64,
    flag: bool,
    text: String,
    bytes: Vec<u8>,
    fixed: [u8; 4],
    hash: Hash,
    perhaps: Option<u64>,
    list: Vec<(u32, String)>,
    map: BTreeMap<String, i64>,
    set: BTreeSet<u16>,
    choices: Vec<Choice>,
}

record!(Sample {
    small,
    medium,
    number,
    big,
    signed,
    flag,
    text,
    bytes,
    fixed,
    hash,
    perhaps,
    list,
    map,
    set,
    choices
});

#[derive(Clone, Debug, PartialEq)]
enum Choice {
    Nothing,
    One(u64),
    Two(String, Box<Sample2>),
    Named { x: u32, y: Option<bool> },
}

#[derive(Clone, Debug, PartialEq)]
struct Sample2 {
    only: Vec<u8>,
}

record!(Sample2 { only });
variants!(Choice { 0 => Nothing, 1 => One(value), 2 => Two(text, inner), 30 => Named { x, y } });

fn choice() -> impl Strategy<Value = Choice> {
    prop_oneof![
        Just(Choice::Nothing),
        any::<u64>().prop_map(Choice::One),
        (".{0,8}", any::<Vec<u8>>())
            .prop_map(|(text, only)| Choice::Two(text, Box::new(Sample2 { only }))),
        (any::<u32>(), any::<Option<bool>>()).prop_map(|(x, y)| Choice::Named { x, y }),
    ]
}

fn sample() -> impl Strategy<Value = Sample> {
    let plain = (
        any::<u8>(),
        any::<u16>(),
        any::<u32>(),
        any::<u64>(),
        any::<i64>(),
        any::<bool>(),
        ".{0,40}",
        prop::collection::vec(any::<u8>(), 0..300),
        any::<[u8; 4]>(),
        any::<[u8; 32]>(),
    );
    let nested = (
        any::<Option<u64>>(),
        prop::collection::vec((any::<u32>(), ".{0,5}"), 0..5),
        prop::collection::btree_map(".{0,30}", any::<i64>(), 0..30),
        prop::collection::btree_set(any::<u16>(), 0..30),
        prop::collection::vec(choice(), 0..5),
    );
    (plain, nested).prop_map(|(plain, (perhaps, list, map, set, choices))| {
        let (small, medium, number, big, signed, flag, text, bytes, fixed, hash) = plain;
        let hash = Hash::from_bytes(hash);
        Sample {
            small,
            medium,
            number,
            big,
            signed,
            flag,
            text,
            bytes,
            fixed,
            hash,
            perhaps,
            list,
            map,
            set,
            choices,
        }
    })
}

/// Checks that accepted bytes encode to exactly the same bytes again.
fn one_form<T: Encode + Decode>(bytes: &[u8]) {
    if let Ok(value) = T::from_bytes(bytes) {
        assert_eq!(value.to_bytes(), bytes);
    }
}

proptest! {
    #![proptest_config(properties::config!(256))]

    #[test]
    fn round_trip(value in sample()) {
        let bytes = value.to_bytes();
        prop_assert_eq!(Sample::from_bytes(&bytes), Ok(value));
        let mut d = Decoder::new(&bytes);
        prop_assert_eq!(d.raw(), Ok(&bytes[..]));
        prop_assert_eq!(d.finish(), Ok(()));
    }

    #[test]
    fn damaged_bytes_have_one_form(value in sample(), at in any::<prop::sample::Index>(), to in any::<u8>(), insert in any::<bool>()) {
        let mut bytes = value.to_bytes();
        let at = at.index(bytes.len());
        if insert {
            bytes.insert(at, to);
        } else {
            bytes[at] = to;
        }
        one_form::<Sample>(&bytes);
    }

    #[test]
    fn every_cut_is_refused(value in sample()) {
        let bytes = value.to_bytes();
        for end in 0..bytes.len() {
            prop_assert!(Sample::from_bytes(&bytes[..end]).is_err());
            prop_assert!(Decoder::new(&bytes[..end]).skip().is_err());
        }
    }

    #[test]
    fn arbitrary_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        one_form::<Sample>(&bytes);
        one_form::<Choice>(&bytes);
        one_form::<PublicKey>(&bytes);
        one_form::<BTreeMap<i64, Vec<String>>>(&bytes);
        one_form::<BTreeMap<Vec<u8>, ()>>(&bytes);
        one_form::<Vec<Option<Hash>>>(&bytes);
        let mut d = Decoder::new(&bytes);
        while d.skip().is_ok() {}
    }

    #[test]
    fn integers_take_their_shortest_form(value in any::<u64>(), shift in 0u32..64) {
        let value = value >> shift;
        let shortest = match value {
            0..24 => 1,
            24..0x100 => 2,
            0x100..0x1_0000 => 3,
            0x1_0000..0x1_0000_0000 => 5,
            _ => 9,
        };
        prop_assert_eq!(value.to_bytes().len(), shortest);
        prop_assert_eq!(u64::from_bytes(&value.to_bytes()), Ok(value));
        let signed = value as i64;
        prop_assert_eq!(i64::from_bytes(&signed.to_bytes()), Ok(signed));
    }
}

/// RFC 8949 appendix A, the examples within the subset.
#[test]
fn published_vectors() {
    fn check<T: Encode + Decode + PartialEq + std::fmt::Debug>(value: T, bytes: &[u8]) {
        assert_eq!(value.to_bytes(), bytes);
        assert_eq!(T::from_bytes(bytes), Ok(value));
    }
    check(0u64, &[0]);
    check(23u64, &[0x17]);
    check(24u64, &[0x18, 0x18]);
    check(1000u64, &[0x19, 0x03, 0xe8]);
    check(1_000_000u64, &[0x1a, 0, 0x0f, 0x42, 0x40]);
    check(u64::MAX, &[0x1b, 255, 255, 255, 255, 255, 255, 255, 255]);
    check(-1i64, &[0x20]);
    check(-1000i64, &[0x39, 0x03, 0xe7]);
    check(i64::MIN, &[0x3b, 127, 255, 255, 255, 255, 255, 255, 255]);
    check(false, &[0xf4]);
    check(true, &[0xf5]);
    check(None::<u64>, &[0xf6]);
    check(vec![1u8, 2, 3, 4], &[0x44, 1, 2, 3, 4]);
    check("ü".to_owned(), &[0x62, 0xc3, 0xbc]);
    check(vec![1u64, 2, 3], &[0x83, 1, 2, 3]);
    check(BTreeMap::from([(1u64, 2u64), (3, 4)]), &[0xa2, 1, 2, 3, 4]);
    check(
        BTreeMap::from([("b".to_owned(), 0u64), ("aa".to_owned(), 1)]),
        &[0xa2, 0x61, b'b', 0, 0x62, b'a', b'a', 1],
    );
    check(Choice::Nothing, &[0x81, 0]);
    check(Choice::Named { x: 1, y: None }, &[0x83, 0x18, 30, 1, 0xf6]);
}

/// Inputs that every reader must refuse, with the code of the refusal.
#[test]
fn refused() {
    fn check<T: Decode + std::fmt::Debug>(bytes: &[u8], code: &str) {
        let error = T::from_bytes(bytes).map(|value| format!("{value:?}"));
        match error {
            Ok(value) => panic!("{bytes:x?} was read as {value}, not refused as {code}"),
            Err(error) => {
                assert_eq!(error.code(), code, "{bytes:x?}: {error}");
                assert!(
                    ERRORS
                        .iter()
                        .any(|info| info.code == code && info.action == error.hint())
                );
            }
        }
    }
    // Longer forms of integers and lengths.
    check::<u64>(&[0x18, 23], "codec.not_canonical");
    check::<u64>(&[0x19, 0, 255], "codec.not_canonical");
    check::<u64>(&[0x1a, 0, 0, 255, 255], "codec.not_canonical");
    check::<u64>(
        &[0x1b, 0, 0, 0, 0, 255, 255, 255, 255],
        "codec.not_canonical",
    );
    check::<Vec<u8>>(&[0x58, 1, 0], "codec.not_canonical");
    check::<String>(&[0x78, 1, b'a'], "codec.not_canonical");
    check::<Vec<u64>>(&[0x98, 1, 0], "codec.not_canonical");
    check::<BTreeMap<u64, u64>>(&[0xb8, 1, 0, 0], "codec.not_canonical");
    check::<Choice>(&[0x81, 0x18, 0], "codec.not_canonical");
    // Indefinite lengths and reserved ones.
    check::<Vec<u8>>(&[0x5f, 0xff], "codec.not_canonical");
    check::<String>(&[0x7f, 0xff], "codec.not_canonical");
    check::<Vec<u64>>(&[0x9f, 0xff], "codec.not_canonical");
    check::<BTreeMap<u64, u64>>(&[0xbf, 0xff], "codec.not_canonical");
    check::<u64>(&[0x1c], "codec.not_canonical");
    // Maps.
    check::<BTreeMap<u64, u64>>(&[0xa2, 3, 4, 1, 2], "codec.not_canonical");
    check::<BTreeMap<u64, u64>>(&[0xa2, 1, 2, 1, 2], "codec.not_canonical");
    check::<BTreeMap<u64, u64>>(&[0xa2, 1, 2], "codec.too_long");
    check::<BTreeSet<u64>>(&[0x82, 2, 1], "codec.invalid");
    check::<BTreeSet<u64>>(&[0x82, 1, 1], "codec.invalid");
    // Types, ranges and lengths.
    check::<u64>(&[0x20], "codec.wrong_type");
    check::<u64>(&[0xf6], "codec.wrong_type");
    check::<u64>(&[0xfb, 0, 0, 0, 0, 0, 0, 0, 0], "codec.wrong_type");
    check::<u64>(&[0xc1, 0], "codec.wrong_type");
    check::<i64>(&[0x3b, 128, 0, 0, 0, 0, 0, 0, 0], "codec.out_of_range");
    check::<i64>(&[0x1b, 128, 0, 0, 0, 0, 0, 0, 0], "codec.out_of_range");
    check::<u8>(&[0x19, 1, 0], "codec.out_of_range");
    check::<bool>(&[0xf7], "codec.wrong_type");
    check::<bool>(&[0xf8, 21], "codec.wrong_type");
    check::<[u8; 4]>(&[0x43, 1, 2, 3], "codec.wrong_length");
    check::<(u64, u64)>(&[0x83, 1, 2, 3], "codec.wrong_length");
    check::<String>(&[0x61, 0xff], "codec.bad_text");
    check::<Choice>(&[0x80], "codec.wrong_length");
    check::<Choice>(&[0x81, 9], "codec.unknown_variant");
    check::<Choice>(&[0x82, 0, 0], "codec.wrong_length");
    // Ends.
    check::<u64>(&[], "codec.truncated");
    check::<u64>(&[0x19, 1], "codec.truncated");
    check::<Vec<u8>>(&[0x42, 1], "codec.truncated");
    check::<Vec<u8>>(
        &[0x5b, 255, 255, 255, 255, 255, 255, 255, 255],
        "codec.truncated",
    );
    check::<Vec<u64>>(
        &[0x9b, 255, 255, 255, 255, 255, 255, 255, 255],
        "codec.too_long",
    );
    check::<Vec<u64>>(&[0x82, 1], "codec.too_long");
    check::<u64>(&[0, 0], "codec.trailing");
}

#[test]
fn limits_of_readers() {
    let mut e = Encoder::new();
    vec![1u64, 2, 3].encode(&mut e);
    e.bytes(&[1, 2, 3]);
    e.text("abc");
    let bytes = e.into_bytes();
    let too_long = |offset, limit| DecodeError::TooLong {
        offset,
        limit,
        found: 3,
    };
    assert_eq!(Decoder::new(&bytes).vec_of::<u64>(2), Err(too_long(0, 2)));
    assert_eq!(Decoder::new(&bytes).vec_of(3), Ok(vec![1u64, 2, 3]));
    assert_eq!(
        Decoder::new(&bytes[4..]).vec_of::<u8>(2),
        Err(too_long(0, 2))
    );
    assert_eq!(
        Decoder::new(&bytes[4..]).bytes_within(3),
        Ok(&[1, 2, 3][..])
    );
    assert_eq!(
        Decoder::new(&bytes[8..]).text_within(2),
        Err(too_long(0, 2))
    );
    assert_eq!(Decoder::new(&bytes[8..]).text_within(3), Ok("abc"));
}

/// Skipping checks the skipped items, and does not follow nesting without end.
#[test]
fn skipping() {
    let check = |bytes: &[u8], code: Option<&str>| {
        let result = Decoder::new(bytes).skip();
        assert_eq!(
            result.map_err(|error| error.code()).err(),
            code,
            "{bytes:x?}"
        );
    };
    check(&[0x82, 1, 0xa1, 0x41, 1, 0xf6], None);
    check(&[0xa2, 2, 0, 1, 0], Some("codec.not_canonical"));
    check(&[0x81, 0x18, 0], Some("codec.not_canonical"));
    check(&[0xf9, 0x3c, 0], Some("codec.not_canonical"));
    check(&[0xf7], Some("codec.not_canonical"));
    check(&[0xc0, 0], Some("codec.wrong_type"));
    let nested = |depth| [vec![0x81; depth], vec![0]].concat();
    check(&nested(32), None);
    check(&nested(33), Some("codec.too_deep"));
    check(&nested(100_000), Some("codec.too_deep"));
}
