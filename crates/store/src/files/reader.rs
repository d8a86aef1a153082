//! Reading of a whole file.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;

use primitives::Hash;

use super::failure::{FilesError, io_error};

/// A file that is open, to be read anywhere. Clones share it. It stays readable after its name was removed.
#[derive(Clone, Debug)]
pub struct FileReader {
    pub(super) file: Arc<File>,
    pub(super) path: Arc<PathBuf>,
    pub(super) hash: Hash,
    pub(super) size: u64,
}

impl FileReader {
    /// Returns the file's name, which is the hash of its bytes.
    #[must_use]
    pub fn hash(&self) -> Hash {
        self.hash
    }

    /// Returns the file's length in bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Reads from an offset until the buffer is full or the file ends. Returns the number of bytes.
    ///
    /// # Errors
    /// [`FilesError::Io`]; [`FilesError::Damaged`] if the file is shorter than when it was opened.
    pub fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<usize, FilesError> {
        // Clipped at 0: nothing follows the end of the file.
        let left = self.size.saturating_sub(offset);
        // Clipped at `usize::MAX`, which no buffer exceeds.
        let wanted = into.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        match self.file.read_exact_at(&mut into[..wanted], offset) {
            Ok(()) => Ok(wanted),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Err(FilesError::Damaged {
                    path: self.path.to_path_buf(),
                    reason: "it is shorter than when it was opened",
                })
            }
            Err(error) => Err(io_error("reading", &self.path)(error)),
        }
    }
}
