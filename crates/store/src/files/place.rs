//! The paths of a folder of files. Only this module makes names.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use primitives::{Hash, hex};

use super::failure::{FilesError, io_error};
use super::sizes::{NOTE_BYTES_MAX, SHELVES};
use crate::directory::sync_directory;

/// The id of a part: its purpose and its upload id or hash. Its file name is derived from this id alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PartId {
    /// A user's upload, by its generated id.
    Upload([u8; 16]),
    /// A file that is fetched, by its hash.
    Fetch(Hash),
}

impl PartId {
    fn name(&self) -> String {
        match self {
            Self::Upload(id) => format!("u-{}", hex::encode(id)),
            Self::Fetch(hash) => format!("f-{hash}"),
        }
    }

    fn parse(name: &str) -> Option<Self> {
        match name.split_at_checked(2)? {
            ("u-", id) => hex::decode_array(id).map(Self::Upload),
            ("f-", hash) => hex::decode_array(hash).map(|hash| Self::Fetch(Hash::from_bytes(hash))),
            _ => None,
        }
        .filter(|id| id.name() == name)
    }
}

/// A part in the folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartFound {
    /// Which.
    pub id: PartId,
    /// Its length in bytes.
    pub len: u64,
    /// When it was last written to.
    pub modified: SystemTime,
    /// Whether it is open for writing.
    pub open: bool,
}

const PARTS: &str = "parts";
const FILES: &str = "files";
const BOOT: &str = "BOOT";
const NOTE: &str = ".note";
const NEW: &str = ".new";

/// Only the node's own user reads attachments on disk.
const FILE_MODE: u32 = 0o600;
const FOLDER_MODE: u32 = 0o700;

/// Maximum bytes read from the file with the id of the boot.
const BOOT_BYTES_MAX: u64 = 256;

/// The paths of a folder of files.
pub(super) struct Place {
    root: PathBuf,
}

/// Opens a part for reading and writing. Refuses a symbolic link and anything else that is not a regular file.
pub(super) fn open_part(path: &Path, create: bool) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(create)
        .truncate(false)
        .mode(FILE_MODE)
        .custom_flags(libc::O_NOFOLLOW)
        .open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::ErrorKind::InvalidInput.into()),
    }
}

/// Returns the result of an operation, or `None` if its file does not exist.
pub(super) fn if_there<T>(outcome: io::Result<T>) -> io::Result<Option<T>> {
    match outcome {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

impl Place {
    pub(super) fn new(root: &Path) -> Self {
        Self {
            root: root.to_path_buf(),
        }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn parts_folder(&self) -> PathBuf {
        self.root.join(PARTS)
    }

    pub(super) fn part(&self, id: &PartId) -> PathBuf {
        self.parts_folder().join(id.name())
    }

    fn note(&self, id: &PartId) -> PathBuf {
        self.parts_folder().join(id.name() + NOTE)
    }

    /// Returns the folder of all files with this first byte.
    pub(super) fn shelf(&self, first: u8) -> PathBuf {
        self.root.join(FILES).join(hex::encode(&[first]))
    }

    pub(super) fn file(&self, hash: &Hash) -> PathBuf {
        self.shelf(hash.as_bytes()[0]).join(hash.to_string())
    }

    /// Makes all folders, durably.
    pub(super) fn make_folders(&self) -> Result<(), FilesError> {
        let shelves = (0..SHELVES).map(|first| self.shelf(first as u8));
        let folders = [self.parts_folder(), self.root.join(FILES)];
        for folder in folders.into_iter().chain(shelves) {
            match std::fs::DirBuilder::new().mode(FOLDER_MODE).create(&folder) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(io_error("making the folder", &folder)(error));
                }
                _ => {}
            }
        }
        sync_names(&self.root.join(FILES))?;
        sync_names(&self.root)
    }

    /// Lists the parts, none of them marked as open.
    pub(super) fn parts(&self) -> Result<Vec<PartFound>, FilesError> {
        let folder = self.parts_folder();
        let failed = |error| io_error("listing", &folder)(error);
        let mut found = Vec::new();
        for entry in std::fs::read_dir(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let Some(id) = entry.file_name().to_str().and_then(PartId::parse) else {
                continue;
            };
            // A part that was removed in the meantime is left out.
            let Some(meta) = if_there(entry.metadata()).map_err(failed)? else {
                continue;
            };
            if meta.is_file() {
                found.push(PartFound {
                    id,
                    len: meta.len(),
                    modified: meta.modified().map_err(failed)?,
                    open: false,
                });
            }
        }
        Ok(found)
    }

    /// Removes a part, then its note. Returns whether there was a part.
    pub(super) fn remove_part(&self, id: &PartId) -> Result<bool, FilesError> {
        let path = self.part(id);
        let removed = if_there(std::fs::remove_file(&path)).map_err(io_error("removing", &path))?;
        self.remove_note(id)?;
        Ok(removed.is_some())
    }

    pub(super) fn remove_note(&self, id: &PartId) -> Result<(), FilesError> {
        let note = self.note(id);
        if_there(std::fs::remove_file(&note)).map_err(io_error("removing", &note))?;
        Ok(())
    }

    /// Returns notes that a crash left without a part, and partly written ones.
    pub(super) fn remove_lone_notes(&self) -> Result<(), FilesError> {
        let folder = self.parts_folder();
        let failed = |error| io_error("listing", &folder)(error);
        for entry in std::fs::read_dir(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let lone = match name.strip_suffix(NOTE) {
                Some(part) => PartId::parse(part).is_some_and(|id| !self.part(&id).exists()),
                None => name.ends_with(NEW),
            };
            if lone {
                let path = entry.path();
                if_there(std::fs::remove_file(&path)).map_err(io_error("removing", &path))?;
            }
        }
        Ok(())
    }

    pub(super) fn write_note(&self, id: &PartId, note: &[u8]) -> Result<(), FilesError> {
        self.write_whole(&self.note(id), note)?;
        sync_names(&self.parts_folder())
    }

    pub(super) fn read_note(&self, id: &PartId) -> Result<Option<Vec<u8>>, FilesError> {
        read_start(&self.note(id), NOTE_BYTES_MAX as u64)
    }

    /// Reads the id of the machine's run that wrote parts last.
    pub(super) fn read_boot(&self) -> Result<Option<String>, FilesError> {
        let bytes = read_start(&self.root.join(BOOT), BOOT_BYTES_MAX)?;
        Ok(bytes.and_then(|bytes| String::from_utf8(bytes).ok()))
    }

    pub(super) fn write_boot(&self, boot: &str) -> Result<(), FilesError> {
        self.write_whole(&self.root.join(BOOT), boot.as_bytes())?;
        sync_names(&self.root)
    }

    fn write_whole(&self, path: &Path, bytes: &[u8]) -> Result<(), FilesError> {
        let mut temporary = path.to_path_buf().into_os_string();
        temporary.push(NEW);
        let temporary = PathBuf::from(temporary);
        let write = || {
            let mut file = OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(true)
                .mode(FILE_MODE)
                .custom_flags(libc::O_NOFOLLOW)
                .open(&temporary)?;
            file.write_all(bytes)?;
            file.sync_data()?;
            std::fs::rename(&temporary, path)
        };
        write().map_err(|error| {
            // Remove the partly written temporary file. If that fails, it is never read.
            let _ = std::fs::remove_file(&temporary);
            io_error("writing", path)(error)
        })
    }
}

/// Reads at most `most` bytes from the start of a file.
fn read_start(path: &Path, most: u64) -> Result<Option<Vec<u8>>, FilesError> {
    let read = || -> io::Result<Option<Vec<u8>>> {
        let Some(file) = if_there(File::open(path))? else {
            return Ok(None);
        };
        let mut bytes = Vec::new();
        io::Read::read_to_end(&mut io::Read::take(file, most), &mut bytes)?;
        Ok(Some(bytes))
    };
    read().map_err(io_error("reading", path))
}

/// Makes a folder's names durable.
pub(super) fn sync_names(folder: &Path) -> Result<(), FilesError> {
    sync_directory(folder).map_err(io_error("syncing", folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_our_own_making_are_parts() {
        let id = PartId::Upload([0xab; 16]);
        assert_eq!(PartId::parse(&id.name()), Some(id));
        let hash = PartId::Fetch(Hash::plain(b"x"));
        assert_eq!(PartId::parse(&hash.name()), Some(hash));
        for name in [
            "",
            "u-",
            "u-00",
            "é",
            "../../etc/passwd",
            "f-00000000000000000000000000000000",
            "U-abababababababababababababababab",
            "u-ABABABABABABABABABABABABABABABAB",
            "u-abababababababababababababababab.note",
            "u-abababababababababababababababa/",
        ] {
            assert_eq!(PartId::parse(name), None, "{name}");
        }
    }
}
