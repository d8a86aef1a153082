//! Parts that the fuzz targets share: the property of every decoder, and seeds from the golden vectors.

mod coefficients;

use std::fs;
use std::path::{Path, PathBuf};

use primitives::{Decode, DecodeError, Decoder, Encode, Encoder, hex};
use serde_json::Value;

pub use coefficients::Coefficients;

/// Checks that accepted bytes encode to the same bytes again, and returns the value.
pub fn one_form<T: Decode + Encode>(data: &[u8]) -> Option<T> {
    let value = T::from_bytes(data).ok()?;
    assert_eq!(value.to_bytes(), data, "another encoding of the same value");
    Some(value)
}

/// Checks the property of every decoder: it never panics, and accepted bytes encode to the same bytes again.
pub fn canonical<T: Decode + Encode>(data: &[u8]) {
    one_form::<T>(data);
}

/// Reads an item by its type, writes it again, and expects the bytes that skipping it found.
pub fn item(data: &[u8]) {
    let raw = Decoder::new(data).raw().ok();
    let mut d = Decoder::new(data);
    let mut e = Encoder::new();
    let copied = copy(&mut d, &mut e);
    if let Some(raw) = raw {
        assert_eq!(copied, Ok(()));
        assert_eq!(e.as_bytes(), raw);
        assert_eq!(d.offset(), raw.len());
    }
}

fn copy(d: &mut Decoder<'_>, e: &mut Encoder) -> Result<(), DecodeError> {
    let before = d.clone();
    macro_rules! attempt {
        ($read:ident, $write:ident) => {
            match d.$read() {
                Ok(value) => {
                    e.$write(value);
                    return Ok(());
                }
                Err(_) => *d = before.clone(),
            }
        };
    }
    attempt!(u64, u64);
    attempt!(i64, i64);
    attempt!(bytes, bytes);
    attempt!(text, text);
    attempt!(bool, bool);
    if d.peek_null() {
        e.null();
        return d.null();
    }
    if let Ok(count) = d.array() {
        e.array(count);
        return d.nested(|d| (0..count).try_for_each(|_| copy(d, e)));
    }
    *d = before.clone();
    if let Ok(count) = d.map() {
        e.map(count);
        return d.nested(|d| (0..count * 2).try_for_each(|_| copy(d, e)));
    }
    // Integers below -2^63 have no type of ours, but are canonical.
    *d = before;
    e.raw(d.raw()?);
    Ok(())
}

/// Fills the corpus folder that libFuzzer was given, if it is empty, with every text that a file of golden vectors has
/// under this name: as bytes where it is hexadecimal, as it is elsewhere.
pub fn seed(file: &str, field: &str) {
    let Some(corpus) = std::env::args()
        .skip(1)
        .map(PathBuf::from)
        .find(|path| path.is_dir())
    else {
        return;
    };
    if fs::read_dir(&corpus).is_ok_and(|mut entries| entries.next().is_some()) {
        return;
    }
    let vectors = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../testdata")
        .join(file);
    let Ok(text) = fs::read_to_string(vectors) else {
        return;
    };
    let mut seeds = Vec::new();
    collect(
        &serde_json::from_str(&text).unwrap_or_default(),
        field,
        &mut seeds,
    );
    for (number, seed) in seeds.iter().enumerate() {
        let bytes = hex::decode(seed).unwrap_or_else(|| seed.as_bytes().to_vec());
        // Without a seed the target only learns more slowly.
        let _ = fs::write(corpus.join(format!("seed-{number}")), bytes);
    }
}

fn collect(value: &Value, field: &str, found: &mut Vec<String>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| collect(value, field, found)),
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(text) if name == field => found.push(text.clone()),
                    _ => collect(value, field, found),
                }
            }
        }
        _ => {}
    }
}
