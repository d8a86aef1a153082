//! Files by their content: where the bytes of attachments are.
//!
//! ```text
//! folder/LOCK            one process at a time
//!        BOOT            the run of the machine in which the parts were written
//!        parts/u-<id>    a part: what has come of a user's upload, .note: what its owner keeps beside it
//!        parts/f-<hash>  a part: what has come of a file that is fetched
//!        files/ab/<hash> a whole file, named by the SHA-256 of its bytes, never changed
//! ```
//! A part is written from its start to its end and hashed on the way. [`Part::finish`] syncs it, gives it its name by a rename
//! and syncs the folder: under a file's name there is the whole file or nothing.
//!
//! # Correctness
//! - No name on disk comes from outside: names are hashes and generated ids.
//! - A part has one writer; a file has any number of readers. An open reader survives the file's removal.
//! - A caller that publishes a file holds a [`Claim`] until the row that refers to it is durable. A claimed file is not
//!   removed, so the removal of a file that was unused a moment ago cannot overtake the row of a new user.
//! - A part is synced whenever it passes a multiple of [`SYNC_BYTES`]. So the bytes before the last multiple that a part has
//!   passed are on disk. After the machine itself went down, only these bytes of a part are trusted.
//! - After a failed sync a part goes back to its last synced length.
//!
//! Blocking. The module does not know the purpose of a file.

mod claims;
mod failure;
mod part;
mod place;
mod reader;
mod shelves;

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use primitives::Hash;

use crate::directory::{self, sync_directory};
use crate::failure::OpenError;
pub use claims::Claim;
use claims::Claims;
pub(crate) use failure::ERRORS;
pub use failure::FilesError;
use failure::io_error;
pub use part::{Part, Published};
pub use place::PartId;
use place::Place;
pub use reader::FileReader;
pub use shelves::Removed;

/// A part is synced each time it has grown by this many bytes. The value is part of the format: recovery relies on it.
pub const SYNC_BYTES: u64 = 8 << 20;

/// Maximum size of the note of a part, in bytes.
pub const NOTE_BYTES_MAX: usize = 4_096;

/// Folders of whole files: one for each first byte of a hash.
const SHELVES: usize = 256;

/// The file with the system's id of the present boot.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// Settings of a folder of files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilesOptions {
    /// Bytes of the disk that files leave free, so that a ledger on the same disk can go on writing.
    pub keep_free_bytes: u64,
    /// The id of the machine's present boot; empty if it is unknown.
    pub boot: String,
}

impl Default for FilesOptions {
    fn default() -> Self {
        let boot = std::fs::read_to_string(BOOT_ID).unwrap_or_default();
        Self {
            keep_free_bytes: 256 << 20,
            boot: boot.trim().to_owned(),
        }
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

/// A complete file in the folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileFound {
    /// Its name and the hash of its bytes.
    pub hash: Hash,
    /// Its length in bytes.
    pub size: u64,
    /// When its last byte was written.
    pub modified: SystemTime,
}

/// A folder of files, shared by all clones.
#[derive(Clone)]
pub struct Files {
    inner: Arc<Inner>,
}

struct Inner {
    place: Place,
    options: FilesOptions,
    /// One lock for each first byte of the hashes, held while files are added or removed.
    shelves: Vec<Mutex<()>>,
    claims: Arc<Claims>,
    /// Parts that are open for writing.
    writing: Mutex<std::collections::HashSet<PartId>>,
    _lock: File,
}

impl Files {
    /// Makes or opens the folder. Removes notes without a part, and nothing else.
    ///
    /// # Errors
    /// [`FilesError::Locked`] if another process has it open; [`FilesError::Io`].
    pub fn open(folder: &Path, options: FilesOptions) -> Result<Self, FilesError> {
        let place = Place::new(folder);
        std::fs::create_dir_all(folder).map_err(io_error("making the folder", folder))?;
        let lock = directory::lock(folder).map_err(|error| match error {
            OpenError::Io { path, source } => io_error("locking", &path)(source),
            _ => FilesError::Locked {
                path: folder.to_path_buf(),
            },
        })?;
        place.make_folders()?;
        let files = Self {
            inner: Arc::new(Inner {
                place,
                shelves: (0..SHELVES).map(|_| Mutex::new(())).collect(),
                claims: Arc::default(),
                writing: Mutex::default(),
                _lock: lock,
                options,
            }),
        };
        files.sort_parts()?;
        Ok(files)
    }

    /// Drops notes without a part, and cuts parts from another run of the machine to the length that is surely on disk.
    fn sort_parts(&self) -> Result<(), FilesError> {
        let place = &self.inner.place;
        let boot = &self.inner.options.boot;
        let known = place.read_boot()?;
        let believed = !boot.is_empty() && known.as_deref() == Some(boot);
        for found in self.parts()? {
            if believed || found.len == 0 {
                continue;
            }
            let path = place.part(&found.id);
            let cut = place::open_part(&path, false)
                .and_then(|file| file.set_len((found.len - 1) / SYNC_BYTES * SYNC_BYTES));
            cut.map_err(io_error("cutting a part", &path))?;
        }
        place.remove_lone_notes()?;
        if !believed {
            place.write_boot(boot)?;
        }
        Ok(())
    }

    /// Opens the part of this id: an existing one is read and hashed again, otherwise a new one is created.
    ///
    /// # Errors
    /// [`FilesError::Busy`] while another caller writes to it; [`FilesError::Full`], [`FilesError::Io`].
    pub fn part(&self, id: PartId) -> Result<Part, FilesError> {
        Part::open(self, id, true)?.ok_or_else(|| {
            let path = self.inner.place.part(&id);
            io_error("making a part", &path)(io::ErrorKind::NotFound.into())
        })
    }

    /// Creates a new part with a note, which is opaque here and stays as long as the part does.
    ///
    /// # Errors
    /// Those of [`Files::part`]; [`FilesError::NoteTooLong`].
    pub fn new_part(&self, id: PartId, note: &[u8]) -> Result<Part, FilesError> {
        if note.len() > NOTE_BYTES_MAX {
            return Err(FilesError::NoteTooLong { bytes: note.len() });
        }
        let place = &self.inner.place;
        place.write_note(&id, note)?;
        let made = self.part(id);
        if made.is_err() && !place.part(&id).exists() {
            // A note without a part has no owner. If it cannot be removed now, the next start removes it.
            let _ = place.remove_note(&id);
        }
        made
    }

    /// Opens the part with this id, if it exists.
    ///
    /// # Errors
    /// Those of [`Files::part`].
    pub fn find_part(&self, id: PartId) -> Result<Option<Part>, FilesError> {
        Part::open(self, id, false)
    }

    /// Reads the note of a part.
    ///
    /// # Errors
    /// [`FilesError::Io`].
    pub fn note(&self, id: &PartId) -> Result<Option<Vec<u8>>, FilesError> {
        self.inner.place.read_note(id)
    }

    /// Returns the parts in the folder.
    ///
    /// # Errors
    /// [`FilesError::Io`].
    pub fn parts(&self) -> Result<Vec<PartFound>, FilesError> {
        let mut parts = self.inner.place.parts()?;
        let writing = self.writing();
        for part in &mut parts {
            part.open = writing.contains(&part.id);
        }
        Ok(parts)
    }

    /// Removes a part and its note. Returns whether there was one.
    ///
    /// # Errors
    /// [`FilesError::Busy`] while a caller writes to it; [`FilesError::Io`].
    pub fn remove_part(&self, id: PartId) -> Result<bool, FilesError> {
        let _writer = self.write_to(id)?;
        self.inner.place.remove_part(&id)
    }

    /// Checks that at least `keep_free_bytes` stay free on the disk if so many more bytes are written.
    ///
    /// # Errors
    /// [`FilesError::Full`].
    pub fn room_for(&self, bytes: u64) -> Result<(), FilesError> {
        let needed = bytes.saturating_add(self.inner.options.keep_free_bytes);
        if self.free_bytes() >= needed {
            return Ok(());
        }
        Err(FilesError::Full {
            path: self.inner.place.root().to_path_buf(),
        })
    }

    /// Returns the free bytes of the disk, without those reserved for the administrator. Returns [`u64::MAX`] if the system
    /// call fails.
    #[must_use]
    pub fn free_bytes(&self) -> u64 {
        rustix::fs::statvfs(self.inner.place.root())
            .map_or(u64::MAX, |disk| disk.f_bavail.saturating_mul(disk.f_frsize))
    }

    /// Returns the folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.inner.place.root()
    }

    fn writing(&self) -> std::sync::MutexGuard<'_, std::collections::HashSet<PartId>> {
        let writing = self.inner.writing.lock();
        writing.unwrap_or_else(PoisonError::into_inner)
    }

    /// Becomes the one who writes to a part.
    fn write_to(&self, id: PartId) -> Result<Writer, FilesError> {
        if !self.writing().insert(id) {
            return Err(FilesError::Busy {
                path: self.inner.place.part(&id),
            });
        }
        Ok(Writer {
            files: self.clone(),
            id,
        })
    }
}

impl std::fmt::Debug for Files {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Files").field(&self.folder()).finish()
    }
}

/// The one who writes to a part, until dropped.
struct Writer {
    files: Files,
    id: PartId,
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.files.writing().remove(&self.id);
    }
}

/// Makes a folder's names durable.
fn sync_names(folder: &Path) -> Result<(), FilesError> {
    sync_directory(folder).map_err(io_error("syncing", folder))
}
