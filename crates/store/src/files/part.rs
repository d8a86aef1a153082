//! A part: a file that is being uploaded or fetched. It is written from start to end and hashed at the same time.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use primitives::{Hash, Hasher};

use super::claims::Claim;
use super::failure::{FilesError, io_error};
use super::folder::{Files, Writer};
use super::place::{PartId, if_there, open_part, sync_names};
use super::sizes::{NOTE_BYTES_MAX, SYNC_BYTES};

/// Interval between checks of the free space, in bytes written.
const LOOK_BYTES: u64 = 4 << 20;

/// Bytes read at once when a part is hashed again.
const READ_BYTES: usize = 256 << 10;

/// A file that is whole, named and durable.
#[derive(Debug)]
pub struct Published {
    /// The SHA-256 of its bytes.
    pub hash: Hash,
    /// Its length in bytes.
    pub size: u64,
    /// Whether the same file existed before.
    pub was_here: bool,
    /// The claim that protects the file from removal. Hold it until the row that refers to the file is durable.
    pub claim: Claim,
}

/// The length of a part, and the state of the hash at this length.
#[derive(Clone)]
struct Progress {
    len: u64,
    hasher: Hasher,
}

/// A file that is being uploaded or fetched. If it is dropped, the bytes stay on disk and can be found again.
pub struct Part {
    files: Files,
    id: PartId,
    path: PathBuf,
    file: File,
    at: Progress,
    /// The length up to which it is durable.
    synced: Progress,
    /// Whether its name is durable.
    named: bool,
    resumed: u64,
    /// The length at which the free space is checked next.
    look_at: u64,
    /// The last field, so that no other writer starts before all other fields are dropped.
    _writer: Writer,
}

impl Files {
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
}

impl Part {
    fn open(files: &Files, id: PartId, create: bool) -> Result<Option<Self>, FilesError> {
        let writer = files.write_to(id)?;
        let path = files.inner.place.part(&id);
        let opened = if_there(open_part(&path, create)).map_err(io_error("opening", &path))?;
        let Some(file) = opened else {
            return Ok(None);
        };
        let start = Progress {
            len: 0,
            hasher: Hasher::new(),
        };
        let mut part = Self {
            files: files.clone(),
            id,
            file,
            at: start.clone(),
            synced: start,
            named: false,
            resumed: 0,
            look_at: 0,
            path,
            _writer: writer,
        };
        part.hash_what_is_there()?;
        Ok(Some(part))
    }

    fn hash_what_is_there(&mut self) -> Result<(), FilesError> {
        let mut buffer = vec![0; READ_BYTES];
        loop {
            let most = self.before_sync(buffer.len());
            let read = self
                .file
                .read_at(&mut buffer[..most], self.at.len)
                .map_err(io_error("reading", &self.path))?;
            if read == 0 {
                self.resumed = self.at.len;
                return Ok(());
            }
            // Something follows, so everything before this multiple was synced when that was written.
            if self.at.len.is_multiple_of(SYNC_BYTES) {
                self.synced = self.at.clone();
            }
            self.at.hasher.update(&buffer[..read]);
            self.at.len += read as u64;
        }
    }

    /// Returns how many of `bytes` bytes come before the next multiple of [`SYNC_BYTES`].
    fn before_sync(&self, bytes: usize) -> usize {
        let room = SYNC_BYTES - self.at.len % SYNC_BYTES;
        bytes.min(usize::try_from(room).expect("SYNC_BYTES fits a word"))
    }

    /// Returns the part's id.
    #[must_use]
    pub fn id(&self) -> PartId {
        self.id
    }

    /// Returns its length in bytes, which is the offset of the next write.
    #[must_use]
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> u64 {
        self.at.len
    }

    /// Returns the number of bytes that were present when it was opened.
    #[must_use]
    pub fn resumed(&self) -> u64 {
        self.resumed
    }

    /// Reads the part's note.
    ///
    /// # Errors
    /// [`FilesError::Io`].
    pub fn note(&self) -> Result<Option<Vec<u8>>, FilesError> {
        self.files.note(&self.id)
    }

    /// Appends bytes. After an error, [`Part::len`] returns the length that was reached; writing can continue from there.
    ///
    /// # Errors
    /// [`FilesError::Full`], [`FilesError::Io`].
    pub fn write(&mut self, mut bytes: &[u8]) -> Result<(), FilesError> {
        while !bytes.is_empty() {
            if self.at.len > self.synced.len && self.at.len.is_multiple_of(SYNC_BYTES) {
                self.sync()?;
            }
            if self.at.len >= self.look_at {
                let room = SYNC_BYTES.min(bytes.len() as u64);
                self.files.room_for(room)?;
                self.look_at = self.at.len + LOOK_BYTES;
            }
            let most = self.before_sync(bytes.len());
            let wrote = match self.file.write_at(&bytes[..most], self.at.len) {
                Ok(0) => {
                    return Err(FilesError::Full {
                        path: self.path.clone(),
                    });
                }
                Ok(wrote) => wrote,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    // The next attempt checks the free space first.
                    self.look_at = 0;
                    return Err(io_error("writing to", &self.path)(error));
                }
            };
            self.at.hasher.update(&bytes[..wrote]);
            self.at.len += wrote as u64;
            bytes = &bytes[wrote..];
        }
        Ok(())
    }

    /// Makes the written bytes durable. If that fails, the bytes that were not durable before are dropped: the system may have
    /// forgotten them.
    fn sync(&mut self) -> Result<(), FilesError> {
        if let Err(error) = self.file.sync_data() {
            self.at = self.synced.clone();
            if self.file.set_len(self.at.len).is_err() {
                // Ignore the removal error: a file that cannot be truncated is not a valid part.
                let _ = self.files.inner.place.remove_part(&self.id);
            }
            return Err(io_error("syncing", &self.path)(error));
        }
        self.let_go();
        self.synced = self.at.clone();
        if !self.named {
            sync_names(&self.files.inner.place.parts_folder())?;
            self.named = true;
        }
        Ok(())
    }

    /// Takes the bytes synced just now out of the page cache, if the file is being fetched and is large. No reader needs it yet,
    /// and without this a stream of large files would displace the pages of the ledger on the same machine.
    fn let_go(&self) {
        let length = std::num::NonZeroU64::new(self.at.len - self.synced.len);
        if let (PartId::Fetch(_), true, Some(length)) = (self.id, self.at.len >= SYNC_BYTES, length)
        {
            // Ignores a failure: the page then stays in the cache, and nothing depends on its removal.
            let advice = rustix::fs::Advice::DontNeed;
            let _ = rustix::fs::fadvise(&self.file, self.synced.len, Some(length), advice);
        }
    }

    /// Ends the part: moves it durably to the file with its hash, or fails.
    ///
    /// # Errors
    /// [`FilesError::Mismatch`], and [`FilesError::WrongSize`] if there are too many bytes: the part is gone. With too few, a
    /// full disk or a failing one it stays.
    pub fn finish(
        mut self,
        expected: Option<Hash>,
        size: Option<u64>,
    ) -> Result<Published, FilesError> {
        self.end(expected, size)
    }

    /// Ends a part like [`Part::finish`], and removes it after any error. For parts that no caller continues.
    ///
    /// # Errors
    /// Those of [`Part::finish`].
    pub fn finish_or_discard(
        mut self,
        expected: Option<Hash>,
        size: Option<u64>,
    ) -> Result<Published, FilesError> {
        let ended = self.end(expected, size);
        if ended.is_err() {
            // The first error counts; a part that cannot be removed stays.
            drop(self.discard());
        }
        ended
    }

    fn end(&mut self, expected: Option<Hash>, size: Option<u64>) -> Result<Published, FilesError> {
        let found = self.at.len;
        if let Some(expected) = size.filter(|size| *size != found) {
            if found > expected {
                self.remove()?;
            }
            return Err(FilesError::WrongSize { expected, found });
        }
        let hash = self.at.hasher.clone().finish();
        if let Some(expected) = expected.filter(|expected| *expected != hash) {
            self.remove()?;
            return Err(FilesError::Mismatch {
                expected,
                found: hash,
            });
        }
        // Cuts any bytes beyond the hashed ones, which an earlier failure may have left.
        let cut = self.file.set_len(found);
        cut.map_err(io_error("cutting", &self.path))?;
        self.sync()?;
        self.files.publish(&self.id, hash, found)
    }

    /// Discards the part.
    ///
    /// # Errors
    /// [`FilesError::Io`].
    pub fn discard(self) -> Result<(), FilesError> {
        self.remove()
    }

    fn remove(&self) -> Result<(), FilesError> {
        self.files.inner.place.remove_part(&self.id).map(|_| ())
    }
}

impl std::fmt::Debug for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Part")
            .field("id", &self.id)
            .field("len", &self.at.len)
            .finish()
    }
}
