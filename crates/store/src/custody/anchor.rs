//! The anchor: a small file next to the identity key that names the identity's store.
//!
//! ```text
//! tallystick store anchor 1
//! store none                       or 32 hexadecimal digits
//! mac HASH
//! ```

use std::io;
use std::path::Path;

use super::authentication::{read as read_text, seal, unseal};
use super::key::CustodyKey;
use super::store_id::StoreId;
use crate::directory::replace_file;

const HEAD: &str = "tallystick store anchor 1\n";
const NONE: &str = "none";

/// The contents of an anchor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    /// The identity has no store yet. The next start makes one, or adopts the one that it finds.
    Fresh,
    /// The identity's store.
    Of(StoreId),
}

/// Reads an anchor. Returns `None` if the file does not exist, and the reason if it is damaged.
pub(super) fn read(path: &Path, key: &CustodyKey) -> io::Result<Option<Result<Anchor, String>>> {
    let text = read_text(path)?;
    Ok(text.map(|text| parse(&text, key)))
}

fn parse(sealed: &str, key: &CustodyKey) -> Result<Anchor, String> {
    let text = unseal(key, sealed)?;
    let id = text
        .strip_prefix(HEAD)
        .and_then(|rest| rest.strip_prefix("store "))
        .and_then(|rest| rest.strip_suffix('\n'));
    match id {
        Some(NONE) => Ok(Anchor::Fresh),
        Some(id) => match StoreId::parse(id) {
            Some(id) => Ok(Anchor::Of(id)),
            None => Err(format!("'{id}' is not a store's id")),
        },
        None => Err("this program does not know the format of the anchor".into()),
    }
}

/// Writes an anchor, durably.
pub(super) fn write(path: &Path, key: &CustodyKey, anchor: Anchor) -> io::Result<()> {
    let id = match anchor {
        Anchor::Fresh => NONE.to_owned(),
        Anchor::Of(id) => id.to_string(),
    };
    let text = seal(key, format!("{HEAD}store {id}\n"));
    replace_file(path, text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_and_refuses_every_edit() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("ledger.anchor");
        let key = CustodyKey::derive(&[7; 32]);
        let other = CustodyKey::derive(&[8; 32]);
        assert_eq!(read(&path, &key).expect("readable"), None);
        for anchor in [Anchor::Fresh, Anchor::Of(StoreId::from_bytes([3; 16]))] {
            write(&path, &key, anchor).expect("written");
            assert_eq!(read(&path, &key).expect("readable"), Some(Ok(anchor)));
            let foreign = read(&path, &other).expect("readable").expect("there");
            assert!(foreign.expect_err("refused").contains("identity key"));
            let bytes = std::fs::read(&path).expect("readable");
            for at in 0..bytes.len() {
                let mut edited = bytes.clone();
                edited[at] ^= 1;
                std::fs::write(&path, &edited).expect("written");
                assert!(matches!(read(&path, &key), Ok(Some(Err(_)))), "byte {at}");
                std::fs::write(&path, &bytes[..at]).expect("written");
                assert!(matches!(read(&path, &key), Ok(Some(Err(_)))), "cut at {at}");
            }
        }
    }
}
