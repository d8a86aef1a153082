//! Golden vectors: every format, byte for byte, as files in `testdata/`.
//!
//! `UPDATE_GOLDEN=1 cargo test --profile checked -p ledger --test it golden::` rewrites them after a deliberate change of a format; an
//! accidental change fails here. `tests/vectors/check_vectors.py` checks the same files without any of our code.

mod cast;
mod cbor;
mod hashes;
mod keys;
mod network;
mod notary;
mod tear_offs;
mod transactions;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Once;

use primitives::{Decode, Encode, hex};
use serde_json::Value;

/// A function that makes a file's content.
type Maker = fn() -> Value;

/// The files, with their makers.
const FILES: [(&str, Maker); 7] = [
    ("cbor.json", cbor::vectors),
    ("hashes.json", hashes::vectors),
    ("keys.json", keys::vectors),
    ("network.json", network::vectors),
    ("notary.json", notary::vectors),
    ("tear_offs.json", tear_offs::vectors),
    ("transactions.json", transactions::vectors),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Rewrites the files if requested, before anything reads them.
fn update() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            for (name, vectors) in FILES {
                let text = format!("{:#}\n", vectors());
                let path = root().join("testdata").join(name);
                fs::write(path, text).expect("testdata can be written");
            }
        }
    });
}

fn read(name: &str) -> Value {
    update();
    let path = root().join("testdata").join(name);
    let text = fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}; run with UPDATE_GOLDEN=1", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn formats_are_unchanged() {
    for (name, vectors) in FILES {
        let made = vectors();
        let kept = read(name);
        for (field, value) in made.as_object().expect("a file is an object") {
            assert_eq!(&kept[field], value, "{name}: {field} has changed");
        }
        assert_eq!(kept, made, "{name} has more fields than are made");
    }
}

/// The files are read back by the decoders, which accept the one form and give it again.
#[test]
fn files_decode() {
    cbor::check(&read("cbor.json"));
    keys::check(&read("keys.json"));
    network::check(&read("network.json"));
    notary::check(&read("notary.json"));
    tear_offs::check(&read("tear_offs.json"));
    transactions::check(&read("transactions.json"));
}

/// Another implementation, in another language, comes to the same hashes and verdicts.
#[test]
fn python_agrees() {
    update();
    let output = Command::new("python3")
        .arg("-B")
        .arg(root().join("tests/vectors/check_vectors.py"))
        .arg(root().join("testdata"))
        .arg(root().join("docs/formats/tallystick.cddl"))
        .output()
        .expect("python3 is installed (make setup)");
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

/// The entries of a list in a file.
fn entries<'a>(file: &'a Value, field: &str) -> &'a Vec<Value> {
    file[field]
        .as_array()
        .unwrap_or_else(|| panic!("{field} is a list"))
}

/// A text of an entry.
fn text<'a>(entry: &'a Value, field: &str) -> &'a str {
    entry[field]
        .as_str()
        .unwrap_or_else(|| panic!("{field} of {entry} is a text"))
}

/// The bytes that a text of an entry spells.
fn bytes(entry: &Value, field: &str) -> Vec<u8> {
    hex::decode(text(entry, field)).unwrap_or_else(|| panic!("{field} of {entry} is hexadecimal"))
}

/// Decodes an entry's bytes, encodes the value again and expects the same bytes.
fn decoded<T: Decode + Encode>(entry: &Value, field: &str) -> T {
    let bytes = bytes(entry, field);
    let value = T::from_bytes(&bytes).unwrap_or_else(|error| panic!("{entry}: {error}"));
    assert_eq!(value.to_bytes(), bytes, "{entry}");
    value
}

/// The encoding of a value, in hexadecimal.
fn encoded(value: &impl Encode) -> String {
    hex::encode(&value.to_bytes())
}
