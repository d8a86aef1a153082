//! The contents of an inventory: the tables and log slots of one store.
//!
//! ```text
//! tallystick store inventory 1
//! kind tallystick embedded store
//! store 32 hexadecimal digits
//! state whole                      or "begun"
//! generation 17
//! sequence 4711                    every record up to this one was durable
//! slot 0.log segment 5 bytes 1048576
//! table meta list 3 checksum 32 hexadecimal digits
//! file 17 bytes 8192               a sorted file of the table before
//! mac HASH
//! ```

use std::collections::BTreeMap;
use std::fmt::Write;
use std::io;
use std::path::Path;
use std::str::Lines;

use super::authentication::{read as read_text, seal, unseal};
use super::key::CustodyKey;
use super::store_id::StoreId;
use crate::directory::replace_file;

const HEAD: &str = "tallystick store inventory 1";

/// A log slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SlotListing {
    /// The id of the newest segment that it is known to have held; 0 if it held none.
    pub(crate) segment: u64,
    /// A lower bound of its length, in bytes.
    pub(crate) bytes: u64,
}

/// A sorted table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TableListing {
    /// A lower bound of the number of its list of files.
    pub(crate) list: u64,
    /// XXH3-128 of that list.
    pub(crate) checksum: u128,
    /// The files of that list: number and length in bytes.
    pub(crate) files: BTreeMap<u64, u64>,
}

/// All tables and log slots of one store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listing {
    /// The title of the kind of store.
    pub(crate) title: String,
    pub(crate) store: StoreId,
    /// Whether the store was opened once with all listed files. Before that, files may be missing because they are being made.
    pub(crate) whole: bool,
    /// The number of this version of the inventory.
    pub(crate) generation: u64,
    /// Every record up to this one was durable.
    pub(crate) sequence: u64,
    pub(crate) slots: BTreeMap<String, SlotListing>,
    pub(crate) tables: BTreeMap<String, TableListing>,
}

impl Listing {
    /// Returns the inventory of a store that is about to be made or adopted.
    pub(super) fn begun(title: &str, store: StoreId) -> Self {
        Self {
            title: title.to_owned(),
            store,
            whole: false,
            generation: 0,
            sequence: 0,
            slots: BTreeMap::new(),
            tables: BTreeMap::new(),
        }
    }

    /// Reads an inventory: `None` if the file is not there, the reason if it is damaged.
    pub(super) fn read(path: &Path, key: &CustodyKey) -> io::Result<Option<Result<Self, String>>> {
        let text = read_text(path)?;
        Ok(text.map(|sealed| {
            let text = unseal(key, &sealed)?;
            Self::parse(text)
                .ok_or_else(|| "this program does not know the format of the inventory".to_owned())
        }))
    }

    /// Replaces the inventory, durably.
    pub(super) fn write(&self, path: &Path, key: &CustodyKey) -> io::Result<()> {
        replace_file(path, seal(key, self.text()).as_bytes())
    }

    fn text(&self) -> String {
        let state = if self.whole { "whole" } else { "begun" };
        let mut text = format!(
            "{HEAD}\nkind {}\nstore {}\nstate {state}\ngeneration {}\nsequence {}\n",
            self.title, self.store, self.generation, self.sequence
        );
        // Writing to a string cannot fail.
        for (name, slot) in &self.slots {
            let SlotListing { segment, bytes } = slot;
            let _ = writeln!(text, "slot {name} segment {segment} bytes {bytes}");
        }
        for (name, table) in &self.tables {
            let (list, checksum) = (table.list, table.checksum);
            let _ = writeln!(text, "table {name} list {list} checksum {checksum:032x}");
            for (number, bytes) in &table.files {
                let _ = writeln!(text, "file {number} bytes {bytes}");
            }
        }
        text
    }

    /// Parses an inventory. Accepts exactly the texts that [`Self::text`] writes.
    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        lines.next().filter(|line| *line == HEAD)?;
        let mut listing = Self {
            title: field(&mut lines, "kind ")?.to_owned(),
            store: StoreId::parse(field(&mut lines, "store ")?)?,
            whole: match field(&mut lines, "state ")? {
                "whole" => true,
                "begun" => false,
                _ => return None,
            },
            generation: field(&mut lines, "generation ")?.parse().ok()?,
            sequence: field(&mut lines, "sequence ")?.parse().ok()?,
            slots: BTreeMap::new(),
            tables: BTreeMap::new(),
        };
        let mut table = None;
        for line in lines {
            let words: Vec<&str> = line.split(' ').collect();
            match words[..] {
                ["slot", name, "segment", segment, "bytes", bytes] if is_name(name) => {
                    let slot = SlotListing {
                        segment: segment.parse().ok()?,
                        bytes: bytes.parse().ok()?,
                    };
                    listing.slots.insert(name.to_owned(), slot);
                }
                ["table", name, "list", list, "checksum", checksum] if is_name(name) => {
                    let entry = TableListing {
                        list: list.parse().ok()?,
                        checksum: u128::from_str_radix(checksum, 16).ok()?,
                        files: BTreeMap::new(),
                    };
                    listing.tables.insert(name.to_owned(), entry);
                    table = Some(name.to_owned());
                }
                ["file", number, "bytes", bytes] => {
                    let table = listing.tables.get_mut(table.as_ref()?)?;
                    let (number, bytes) = (number.parse().ok()?, bytes.parse().ok()?);
                    table.files.insert(number, bytes);
                }
                _ => return None,
            }
        }
        (listing.text() == text).then_some(listing)
    }
}

fn field<'a>(lines: &mut Lines<'a>, label: &str) -> Option<&'a str> {
    lines.next()?.strip_prefix(label)
}

/// Returns whether a name is a single path component with only the characters that this program uses in names.
fn is_name(name: &str) -> bool {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.';
    !name.is_empty() && !name.starts_with('.') && name.bytes().all(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing() -> Listing {
        let mut listing = Listing::begun("a kind", StoreId::from_bytes([9; 16]));
        listing.whole = true;
        listing.generation = 3;
        listing.sequence = 77;
        let slot = SlotListing {
            segment: 5,
            bytes: 1 << 20,
        };
        listing.slots.insert("0.log".into(), slot);
        listing.slots.insert("1.log".into(), SlotListing::default());
        let table = TableListing {
            list: 4,
            checksum: 0xabc,
            files: [(1, 10), (7, 20)].into(),
        };
        listing.tables.insert("meta".into(), table);
        listing
            .tables
            .insert("other".into(), TableListing::default());
        listing
    }

    #[test]
    fn round_trips_and_refuses_every_edit() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("inventory");
        let key = CustodyKey::derive(&[1; 32]);
        assert_eq!(Listing::read(&path, &key).expect("readable"), None);
        let listing = listing();
        listing.write(&path, &key).expect("written");
        let read = Listing::read(&path, &key).expect("readable");
        assert_eq!(read, Some(Ok(listing)));
        let bytes = std::fs::read(&path).expect("readable");
        for at in 0..bytes.len() {
            let mut edited = bytes.clone();
            edited[at] ^= 1;
            std::fs::write(&path, &edited).expect("written");
            let read = Listing::read(&path, &key);
            assert!(matches!(read, Ok(Some(Err(_)))), "byte {at}");
            std::fs::write(&path, &bytes[..at]).expect("written");
            let read = Listing::read(&path, &key);
            assert!(matches!(read, Ok(Some(Err(_)))), "cut at {at}");
        }
    }

    #[test]
    fn refuses_names_that_leave_the_folder() {
        for name in ["..", "a/b", "", ".log", "a b"] {
            let mut listing = listing();
            listing.slots.insert(name.into(), SlotListing::default());
            assert_eq!(Listing::parse(&listing.text()), None, "{name:?}");
        }
    }
}
