//! The canonical subset of CBOR: items that are accepted, and items that are not, with the code of the refusal.

use primitives::{Coded, DecodeError, Decoder};
use serde_json::{Value, json};

use crate::golden::{bytes, entries, text};

const ACCEPTED: &[(&str, &str)] = &[
    ("00", "0"),
    ("17", "23"),
    ("1818", "24, the first in two bytes"),
    ("18ff", "255"),
    ("190100", "256"),
    ("1a00010000", "65536"),
    ("1b0000000100000000", "4294967296"),
    ("1bffffffffffffffff", "the greatest integer"),
    ("20", "-1"),
    ("3818", "-25"),
    ("3b7fffffffffffffff", "-2^63"),
    ("40", "no bytes"),
    ("43010203", "three bytes"),
    ("60", "no text"),
    ("63c3bc61", "text in UTF-8"),
    ("80", "an empty array"),
    ("8301820203f6", "an array in an array, and null"),
    ("a0", "an empty map"),
    ("a201020304", "a map"),
    (
        "a2616200626161f5",
        "keys ascend by their encoded bytes: a shorter one comes first",
    ),
    ("a30a001864002000", "positive integers before negative ones"),
    ("f4", "false"),
    ("f5", "true"),
    ("f6", "null"),
];

const REFUSED: &[(&str, &str, &str)] = &[
    ("", "codec.truncated", "nothing"),
    ("18", "codec.truncated", "an integer without its byte"),
    ("4201", "codec.truncated", "a byte string cut short"),
    (
        "5bffffffffffffffff00",
        "codec.truncated",
        "a byte string of 2^64-1 bytes",
    ),
    ("8200", "codec.too_long", "an array of two with one item"),
    (
        "9bffffffffffffffff",
        "codec.too_long",
        "an array of 2^64-1 items",
    ),
    ("a10000a1", "codec.trailing", "more than one item"),
    ("1800", "codec.not_canonical", "0 in two bytes"),
    ("1817", "codec.not_canonical", "23 in two bytes"),
    ("1900ff", "codec.not_canonical", "255 in three bytes"),
    ("1a0000ffff", "codec.not_canonical", "65535 in five bytes"),
    (
        "1b00000000ffffffff",
        "codec.not_canonical",
        "2^32-1 in nine bytes",
    ),
    ("3800", "codec.not_canonical", "-1 in two bytes"),
    (
        "580100",
        "codec.not_canonical",
        "a length of one in two bytes",
    ),
    (
        "780161",
        "codec.not_canonical",
        "a length of text in two bytes",
    ),
    (
        "980100",
        "codec.not_canonical",
        "a length of an array in two bytes",
    ),
    (
        "b8010000",
        "codec.not_canonical",
        "a length of a map in two bytes",
    ),
    (
        "5f4100ff",
        "codec.not_canonical",
        "a byte string of indefinite length",
    ),
    (
        "7f6161ff",
        "codec.not_canonical",
        "text of indefinite length",
    ),
    (
        "9f00ff",
        "codec.not_canonical",
        "an array of indefinite length",
    ),
    (
        "bf0000ff",
        "codec.not_canonical",
        "a map of indefinite length",
    ),
    ("1c", "codec.not_canonical", "a reserved length"),
    ("a203040102", "codec.not_canonical", "keys that descend"),
    (
        "a201020102",
        "codec.not_canonical",
        "a key that comes twice",
    ),
    ("f7", "codec.not_canonical", "undefined"),
    ("f0", "codec.not_canonical", "another simple value"),
    ("f814", "codec.not_canonical", "false in two bytes"),
    ("f90000", "codec.not_canonical", "a half float"),
    ("fa00000000", "codec.not_canonical", "a float"),
    ("fb0000000000000000", "codec.not_canonical", "a double"),
    ("ff", "codec.not_canonical", "a break outside anything"),
    ("c000", "codec.wrong_type", "a tag"),
    ("d81800", "codec.wrong_type", "a tag in two bytes"),
    ("61ff", "codec.bad_text", "text that is not UTF-8"),
    (
        "818181818181818181818181818181818181818181818181818181818181818181f6",
        "codec.too_deep",
        "33 levels of arrays",
    ),
];

pub fn vectors() -> Value {
    let accepted = ACCEPTED
        .iter()
        .map(|(hex, what)| json!({ "hex": hex, "what": what }))
        .collect::<Vec<_>>();
    let refused = REFUSED
        .iter()
        .map(|(hex, code, what)| json!({ "hex": hex, "code": code, "what": what }))
        .collect::<Vec<_>>();
    json!({ "accepted": accepted, "refused": refused })
}

fn read(bytes: &[u8]) -> Result<(), DecodeError> {
    let mut d = Decoder::new(bytes);
    d.skip()?;
    d.finish()
}

pub fn check(file: &Value) {
    for entry in entries(file, "accepted") {
        assert_eq!(read(&bytes(entry, "hex")), Ok(()), "{entry}");
    }
    for entry in entries(file, "refused") {
        let code = read(&bytes(entry, "hex")).map_err(|error| error.code());
        assert_eq!(code, Err(text(entry, "code")), "{entry}");
    }
}
