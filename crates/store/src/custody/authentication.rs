//! Text files that carry a keyed hash of themselves in their last line.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use primitives::{Domain, Hash};

use super::key::CustodyKey;

/// Maximum bytes of a file that are read. An inventory of a million sorted files has this size.
const BYTES_MAX: u64 = 64 << 20;

const LABEL: &str = "mac ";

/// Appends the line with the keyed hash.
pub(super) fn seal(key: &CustodyKey, mut text: String) -> String {
    let hash = keyed(key, &text);
    text.push_str(LABEL);
    text.push_str(&hash.to_string());
    text.push('\n');
    text
}

/// Returns the text before the last line, or the reason why the file is not authentic.
pub(super) fn unseal<'a>(key: &CustodyKey, sealed: &'a str) -> Result<&'a str, &'static str> {
    let cut = "it is truncated";
    let lines = sealed.strip_suffix('\n').ok_or(cut)?;
    let start = lines.rfind('\n').ok_or(cut)? + 1;
    let found = lines[start..].strip_prefix(LABEL).ok_or(cut)?;
    let text = &sealed[..start];
    if keyed(key, text).to_string() != found {
        return Err(
            "its contents do not match its keyed hash: it was edited, or made under another identity key",
        );
    }
    Ok(text)
}

/// Reads a file as text; `None` if it is not there.
pub(super) fn read(path: &Path) -> io::Result<Option<String>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    file.take(BYTES_MAX).read_to_end(&mut bytes)?;
    // Bytes that are not text match no keyed hash.
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

/// Returns the keyed hash of a text. Its input is the key and the text's hash. Both have a fixed length, so no two pairs of key
/// and text share an input.
fn keyed(key: &CustodyKey, text: &str) -> Hash {
    let text = Hash::plain(text.as_bytes());
    Hash::of(Domain::Derive, &[key.bytes(), text.as_bytes()])
}
