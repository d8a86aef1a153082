//! The system's page cache of the files that a node keeps, which decides whether a transfer reads the disk.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use rustix::fs::{Advice, fadvise};

/// Upper limit on nested folders.
const DEPTH_MAX: u32 = 8;
/// The size of one read.
const BLOCK_BYTES: usize = 256 * 1024;

/// The treatment of each file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Care {
    /// It is dropped from the page cache.
    Forget,
    /// It is read, so that it enters the page cache.
    Read,
}

/// Applies it to every file below a folder. Returns their bytes. Blocks.
pub(super) fn care(folder: &Path, what: Care) -> io::Result<u64> {
    within(folder, what, DEPTH_MAX)
}

fn within(folder: &Path, what: Care, depth: u32) -> io::Result<u64> {
    let Some(depth) = depth.checked_sub(1) else {
        return Ok(0);
    };
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            bytes += within(&entry.path(), what, depth)?;
        } else if kind.is_file() {
            bytes += one(&entry.path(), what)?;
        }
    }
    Ok(bytes)
}

fn one(path: &Path, what: Care) -> io::Result<u64> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        // The node changes its folder meanwhile.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(error),
    };
    let size = file.metadata()?.len();
    match what {
        Care::Forget => {
            // Only data on the disk can leave the cache.
            file.sync_data()?;
            fadvise(&file, 0, None, Advice::DontNeed)?;
        }
        Care::Read => {
            let mut block = vec![0; BLOCK_BYTES];
            while file.read(&mut block)? > 0 {}
        }
    }
    Ok(size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_below_a_folder_is_taken_care_of_and_stays_as_it_is() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let deep = folder.path().join("ab").join("cd");
        std::fs::create_dir_all(&deep).expect("folders");
        std::fs::write(deep.join("one"), vec![7; 100_000]).expect("written");
        std::fs::write(folder.path().join("two"), b"12345").expect("written");
        for what in [Care::Forget, Care::Read, Care::Forget] {
            assert_eq!(care(folder.path(), what).expect("readable"), 100_005);
        }
        let bytes = std::fs::read(deep.join("one")).expect("still there");
        assert!(bytes == vec![7; 100_000]);
        assert!(care(&folder.path().join("none"), Care::Read).is_err());
    }
}
