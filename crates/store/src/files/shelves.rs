//! Whole files: publishing, look-up and removal.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::SystemTime;

use primitives::{Hash, Hasher};

use super::claims::Claim;
use super::failure::{FilesError, io_error};
use super::folder::Files;
use super::part::Published;
use super::place::{PartId, if_there, sync_names};
use super::reader::FileReader;
use super::sizes::SHELVES;

/// Bytes read at once when a file is checked.
const READ_BYTES: usize = 256 << 10;

/// A whole file in the folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileFound {
    /// Its name and the hash of its bytes.
    pub hash: Hash,
    /// Its length in bytes.
    pub size: u64,
    /// When its last byte was written.
    pub modified: SystemTime,
}

/// The outcome of a removal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removed {
    /// The file is gone.
    Gone,
    /// The file did not exist.
    Absent,
    /// A caller claims the file, so it was not removed.
    Claimed,
    /// The `keep` function returned that the file is still needed, so it was not removed.
    Kept,
}

impl Files {
    fn lock_shelf(&self, hash: &Hash) -> MutexGuard<'_, ()> {
        let shelf = &self.inner.shelves[usize::from(hash.as_bytes()[0])];
        shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a synced part its name.
    pub(super) fn publish(
        &self,
        id: &PartId,
        hash: Hash,
        size: u64,
    ) -> Result<Published, FilesError> {
        let place = &self.inner.place;
        let (part, file) = (place.part(id), place.file(&hash));
        let shelf = place.shelf(hash.as_bytes()[0]);
        let _locked = self.lock_shelf(&hash);
        let was_here = self.size(&hash)? == Some(size);
        if was_here {
            // The process that named it may have died before the name was durable.
            sync_names(&shelf)?;
            place.remove_part(id)?;
        } else {
            // A file of another length is damaged. The whole one replaces it.
            std::fs::rename(&part, &file).map_err(io_error("naming", &file))?;
            if let Err(error) = sync_names(&shelf) {
                // The name is not durable, so the file is not published: it becomes a part again.
                let _ = std::fs::rename(&file, &part);
                return Err(error);
            }
            place.remove_note(id)?;
        }
        Ok(Published {
            hash,
            size,
            was_here,
            claim: self.inner.claims.claim(hash),
        })
    }

    /// Returns the length of a file in bytes, if it exists.
    ///
    /// # Errors
    /// [`FilesError::Io`]; [`FilesError::Damaged`] if something other than a regular file has its name.
    pub fn size(&self, hash: &Hash) -> Result<Option<u64>, FilesError> {
        let path = self.inner.place.file(hash);
        let meta =
            if_there(std::fs::symlink_metadata(&path)).map_err(io_error("looking at", &path))?;
        match meta {
            None => Ok(None),
            Some(meta) if meta.is_file() => Ok(Some(meta.len())),
            Some(_) => Err(FilesError::Damaged {
                path,
                reason: "it is not a regular file",
            }),
        }
    }

    /// Opens a file for reading, if it exists.
    ///
    /// # Errors
    /// [`FilesError::Io`]; [`FilesError::Damaged`] if something other than a regular file has its name.
    pub fn reader(&self, hash: &Hash) -> Result<Option<FileReader>, FilesError> {
        let path = self.inner.place.file(hash);
        let opened = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NOFOLLOW)
            .open(&path);
        let file: File = match if_there(opened) {
            Ok(Some(file)) => file,
            Ok(None) => return Ok(None),
            // A link is not followed: return the same error as for its size.
            Err(error) if error.raw_os_error() == Some(libc::ELOOP) => {
                return self.size(hash).map(|_| None);
            }
            Err(error) => return Err(io_error("opening", &path)(error)),
        };
        let meta = file.metadata().map_err(io_error("looking at", &path))?;
        if !meta.is_file() {
            return self.size(hash).map(|_| None);
        }
        Ok(Some(FileReader {
            file: Arc::new(file),
            path: Arc::new(path),
            hash: *hash,
            size: meta.len(),
        }))
    }

    /// Claims a file, which protects it from removal. Returns `None` if the file does not exist.
    ///
    /// # Errors
    /// Those of [`Files::size`].
    pub fn claim(&self, hash: &Hash) -> Result<Option<Claim>, FilesError> {
        let _locked = self.lock_shelf(hash);
        let there = self.size(hash)?.is_some();
        Ok(there.then(|| self.inner.claims.claim(*hash)))
    }

    /// Removes a file without claims.
    ///
    /// # Errors
    /// [`FilesError::Io`].
    pub fn remove(&self, hash: &Hash) -> Result<Removed, FilesError> {
        self.remove_unless(hash, || false)
    }

    /// Removes a file without claims, unless `keep` returns that it is referred to after all. While `keep` runs no other
    /// thread can publish or claim this file, so its result stays true.
    ///
    /// # Errors
    /// [`FilesError::Io`].
    pub fn remove_unless(
        &self,
        hash: &Hash,
        keep: impl FnOnce() -> bool,
    ) -> Result<Removed, FilesError> {
        let _locked = self.lock_shelf(hash);
        if self.inner.claims.has(hash) {
            return Ok(Removed::Claimed);
        }
        if keep() {
            return Ok(Removed::Kept);
        }
        let path = self.inner.place.file(hash);
        // The removal is not synced: a file that a power cut brings back has no row, and is removed again.
        let removed = if_there(std::fs::remove_file(&path)).map_err(io_error("removing", &path))?;
        Ok(match removed {
            Some(()) => Removed::Gone,
            None => Removed::Absent,
        })
    }

    /// Lists all files of the folder, shelf by shelf, in no order. Entries that are not files of this format are skipped.
    pub fn list(&self) -> impl Iterator<Item = Result<FileFound, FilesError>> + use<> {
        let files = self.clone();
        (0..SHELVES).flat_map(move |first| files.list_shelf(first as u8))
    }

    fn list_shelf(&self, first: u8) -> impl Iterator<Item = Result<FileFound, FilesError>> + use<> {
        let folder = self.inner.place.shelf(first);
        let (entries, failure) = match std::fs::read_dir(&folder) {
            Ok(entries) => (Some(entries), None),
            Err(error) => (None, Some(Err(io_error("listing", &folder)(error)))),
        };
        let found = entries.into_iter().flatten().filter_map(move |entry| {
            let look = || -> io::Result<Option<FileFound>> {
                let entry = entry?;
                let name = entry.file_name();
                let hash = name.to_str().and_then(|name| name.parse::<Hash>().ok());
                let hash = hash.filter(|hash| {
                    hash.as_bytes()[0] == first && name.to_str() == Some(&hash.to_string())
                });
                let (Some(hash), Some(meta)) = (hash, if_there(entry.metadata())?) else {
                    return Ok(None);
                };
                if !meta.is_file() {
                    return Ok(None);
                }
                Ok(Some(FileFound {
                    hash,
                    size: meta.len(),
                    modified: meta.modified()?,
                }))
            };
            look().map_err(io_error("listing", &folder)).transpose()
        });
        failure.into_iter().chain(found)
    }

    /// Reads a whole file and checks its hash. Returns its length, or `None` if it does not exist.
    ///
    /// # Errors
    /// [`FilesError::Damaged`], [`FilesError::Io`].
    pub fn verify(&self, hash: &Hash) -> Result<Option<u64>, FilesError> {
        let Some(reader) = self.reader(hash)? else {
            return Ok(None);
        };
        let (mut hasher, mut at) = (Hasher::new(), 0);
        let mut buffer = vec![0; READ_BYTES];
        while at < reader.size() {
            let read = reader.read_at(at, &mut buffer)?;
            hasher.update(&buffer[..read]);
            at += read as u64;
        }
        if hasher.finish() != *hash {
            return Err(FilesError::Damaged {
                path: self.inner.place.file(hash),
                reason: "its bytes have another hash",
            });
        }
        Ok(Some(at))
    }

    /// Drops a file's pages from the system's cache, so that the next read comes from the disk. For measurements.
    ///
    /// # Errors
    /// Those of [`Files::reader`].
    pub fn forget_cached(&self, hash: &Hash) -> Result<(), FilesError> {
        let Some(reader) = self.reader(hash)? else {
            return Ok(());
        };
        rustix::fs::fadvise(&*reader.file, 0, None, rustix::fs::Advice::DontNeed)
            .map_err(|error| io_error("advising on", &reader.path)(error.into()))
    }
}
