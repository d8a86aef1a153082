//! The properties of a local file before it is sent.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use primitives::{Hash, Hasher};

use super::progress::bar;
use crate::failure::{Failure, about_file};

/// Bytes read at once.
const READ_BYTES: usize = 256 << 10;

/// Media types by file name extension.
const MEDIA_TYPES: &[(&str, &str)] = &[
    ("csv", "text/csv"),
    ("gif", "image/gif"),
    ("gz", "application/gzip"),
    ("html", "text/html"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("json", "application/json"),
    ("md", "text/markdown"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    ("svg", "image/svg+xml"),
    ("tar", "application/x-tar"),
    ("txt", "text/plain"),
    ("wasm", "application/wasm"),
    ("xml", "application/xml"),
    ("zip", "application/zip"),
];

/// Returns the media type for a file name.
pub(super) fn media_type(path: &Path) -> Option<&'static str> {
    let end = path.extension()?.to_str()?.to_ascii_lowercase();
    let found = MEDIA_TYPES.iter().find(|(known, _)| *known == end);
    found.map(|(_, media_type)| *media_type)
}

/// Returns a file's hash and length, read piece by piece.
pub(super) fn hash_of(path: &Path) -> Result<(Hash, u64), Failure> {
    let failed = |error: std::io::Error| about_file(path, &error);
    let mut file = File::open(path).map_err(failed)?;
    let meta = file.metadata().map_err(failed)?;
    if !meta.is_file() {
        return Err(about_file(path, &"it is no ordinary file"));
    }
    let bar = bar("hashing", Some(meta.len()));
    let (mut hasher, mut length) = (Hasher::new(), 0);
    let mut piece = vec![0; READ_BYTES];
    loop {
        let read = file.read(&mut piece).map_err(failed)?;
        if read == 0 {
            bar.finish_and_clear();
            return Ok((hasher.finish(), length));
        }
        hasher.update(&piece[..read]);
        length += read as u64;
        bar.set_position(length);
    }
}
