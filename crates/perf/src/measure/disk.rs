//! Measures the size of a folder's live files, without compacting them first.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// Bytes under a folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskUse {
    /// Content of the files. Holes and reserved tails count only as far as the file system has allocated blocks.
    pub live_bytes: u64,
    /// Bytes that the file system has allocated.
    pub allocated_bytes: u64,
}

impl DiskUse {
    /// Sums all files under `folder`. A file that disappears meanwhile is skipped.
    pub fn of(folder: &Path) -> io::Result<Self> {
        let mut sum = Self::default();
        sum.add_folder(folder)?;
        Ok(sum)
    }

    /// Adds another folder's bytes.
    pub fn add(&mut self, other: Self) {
        self.live_bytes += other.live_bytes;
        self.allocated_bytes += other.allocated_bytes;
    }

    fn add_folder(&mut self, folder: &Path) -> io::Result<()> {
        let entries = match fs::read_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            other => other?,
        };
        for entry in entries {
            let entry = entry?;
            let metadata = match entry.metadata() {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                other => other?,
            };
            if metadata.is_dir() {
                self.add_folder(&entry.path())?;
            } else if metadata.is_file() {
                let allocated = metadata.blocks() * 512;
                self.allocated_bytes += allocated;
                self.live_bytes += metadata.len().min(allocated);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::create_dir(folder.path().join("inner")).expect("a folder");
        fs::write(folder.path().join("a"), vec![1; 10_000]).expect("a file");
        fs::write(folder.path().join("inner/b"), vec![2; 500]).expect("a file");
        let hole = fs::File::create(folder.path().join("hole")).expect("a file");
        hole.set_len(1 << 30).expect("a hole");
        for name in ["a", "inner/b"] {
            // The file system allocates blocks when the file is synced.
            let file = fs::File::open(folder.path().join(name)).expect("it is there");
            file.sync_all().expect("synced");
        }
        let sum = DiskUse::of(folder.path()).expect("readable");
        assert_eq!(sum.live_bytes, 10_500);
        assert!(sum.allocated_bytes >= 10_500 && sum.allocated_bytes < 1 << 20);
        let missing = DiskUse::of(&folder.path().join("missing")).expect("counts as empty");
        assert_eq!(missing, DiskUse::default());
    }
}
