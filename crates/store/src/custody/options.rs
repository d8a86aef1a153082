//! The places of a store's inventory and anchor.

use std::io;
use std::path::{Path, PathBuf};

use super::anchor::{self, Anchor};
use super::key::CustodyKey;
use crate::failure::OpenError;

/// The inventory's file within a store's directory, when the options name no other place.
const INVENTORY: &str = "INVENTORY";
/// The extension of the mark, next to the inventory.
const MARK: &str = "mark";
/// The places of a store's inventory and anchor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Custody {
    /// The inventory's file, outside the store's directory. The mark is next to it, with the extension `mark`.
    pub inventory: PathBuf,
    /// The anchor's file, next to the identity key.
    pub anchor: PathBuf,
    /// Authenticates both.
    pub key: CustodyKey,
}

impl Custody {
    /// Writes the anchor of an identity that has no store yet, so that the next start makes one.
    ///
    /// # Errors
    /// The anchor cannot be written.
    pub fn expect_new_store(&self) -> io::Result<()> {
        anchor::write(&self.anchor, &self.key, Anchor::Fresh)
    }

    /// Lets the next start make an empty store in the directory `store`, which must be empty or missing. Renames the inventory
    /// and the file `ledger.mark` of an earlier store.
    ///
    /// # Errors
    /// The directory is not empty, or a file cannot be read or written.
    pub fn permit_empty_store(&self, store: &Path) -> Result<(), OpenError> {
        let io = |path: &Path| {
            let path = path.to_path_buf();
            move |source| OpenError::Io { path, source }
        };
        match std::fs::read_dir(store) {
            Ok(mut entries) => {
                if entries.next().is_some() {
                    return Err(OpenError::NotEmpty {
                        path: store.to_path_buf(),
                    });
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(io(store)(error)),
        }
        for path in [self.inventory.clone(), mark_of(&self.inventory)] {
            set_aside(&path).map_err(io(&path))?;
        }
        self.expect_new_store().map_err(io(&self.anchor))
    }
}

/// The files of custody of one store.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    pub(super) inventory: PathBuf,
    pub(super) mark: PathBuf,
    pub(super) anchor: Option<PathBuf>,
    pub(super) key: CustodyKey,
}

impl Places {
    pub(super) fn of(store: &Path, custody: Option<&Custody>) -> Self {
        match custody {
            Some(custody) => Self {
                inventory: custody.inventory.clone(),
                mark: mark_of(&custody.inventory),
                anchor: Some(custody.anchor.clone()),
                key: custody.key.clone(),
            },
            None => Self {
                inventory: store.join(INVENTORY),
                mark: mark_of(&store.join(INVENTORY)),
                anchor: None,
                key: CustodyKey::of_nobody(),
            },
        }
    }
}

fn mark_of(inventory: &Path) -> PathBuf {
    inventory.with_extension(MARK)
}

/// Renames a file to the first name `NAME.before-N` that is free. Does nothing if it is not there.
pub(super) fn set_aside(path: &Path) -> io::Result<()> {
    if !path.try_exists()? {
        return Ok(());
    }
    let mut number = 1u32;
    loop {
        let name = path.file_name();
        let mut name = name
            .ok_or_else(|| io::Error::other("the path has no file name"))?
            .to_owned();
        name.push(format!(".before-{number}"));
        let aside = path.with_file_name(name);
        if !aside.try_exists()? {
            return std::fs::rename(path, aside);
        }
        number = number
            .checked_add(1)
            .ok_or_else(|| io::Error::other("no free name"))?;
    }
}
