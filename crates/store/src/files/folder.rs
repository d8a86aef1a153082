//! The folder: its settings, its lock, its parts, and the free space of its disk.

use std::fs::File;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use super::claims::Claims;
use super::failure::{FilesError, io_error};
use super::place::{PartFound, PartId, Place, open_part};
use super::sizes::{SHELVES, SYNC_BYTES};
use crate::directory;
use crate::failure::OpenError;

/// The file with the system's id of the present boot.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// Settings of a folder of files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilesOptions {
    /// Bytes of the disk that files leave free, so that a ledger on the same disk can keep writing.
    pub keep_free_bytes: u64,
    /// The id of the machine's present boot; empty if it is unknown.
    pub boot: String,
}

impl Default for FilesOptions {
    fn default() -> Self {
        // Empty stands for an unknown boot.
        let boot = std::fs::read_to_string(BOOT_ID).unwrap_or_default();
        Self {
            keep_free_bytes: 256 << 20,
            boot: boot.trim().to_owned(),
        }
    }
}

/// A folder of files, shared by all clones.
#[derive(Clone)]
pub struct Files {
    pub(super) inner: Arc<Inner>,
}

pub(super) struct Inner {
    pub(super) place: Place,
    options: FilesOptions,
    /// One lock for each first byte of the hashes, held while files are added or removed.
    pub(super) shelves: Vec<Mutex<()>>,
    pub(super) claims: Arc<Claims>,
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

    /// Removes notes without a part. Truncates parts that were written before the machine's last boot to the length that is surely on disk.
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
            let cut = open_part(&path, false)
                .and_then(|file| file.set_len((found.len - 1) / SYNC_BYTES * SYNC_BYTES));
            cut.map_err(io_error("cutting a part", &path))?;
        }
        place.remove_lone_notes()?;
        if !believed {
            place.write_boot(boot)?;
        }
        Ok(())
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

    /// Checks that at least `keep_free_bytes` stay free on the disk if this number of bytes is written.
    ///
    /// # Errors
    /// [`FilesError::Full`].
    pub fn room_for(&self, bytes: u64) -> Result<(), FilesError> {
        // If the sum is clipped, it exceeds every disk.
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
        let disk = rustix::fs::statvfs(self.inner.place.root());
        // If the product is clipped, it still has room for every file.
        disk.map_or(u64::MAX, |disk| disk.f_bavail.saturating_mul(disk.f_frsize))
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

    /// Makes the caller the only writer of a part, or fails if there is one.
    pub(super) fn write_to(&self, id: PartId) -> Result<Writer, FilesError> {
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

/// The exclusive right to write to a part, until it is dropped.
pub(super) struct Writer {
    files: Files,
    id: PartId,
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.files.writing().remove(&self.id);
    }
}
