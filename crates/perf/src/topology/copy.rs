//! Copies of folders: the system's own copy of each file, which shares blocks where the file system can.

use std::fs;
use std::io;
use std::path::Path;

/// Upper limit on nested folders. A node's data has two levels.
const DEPTH_MAX: u32 = 16;

/// Copies everything under `from` to `to`, which must not exist, and syncs it, so that later write-back does not disturb
/// the next measurement.
pub(super) fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    copy_within(from, to, DEPTH_MAX)
}

fn copy_within(from: &Path, to: &Path, depth: u32) -> io::Result<()> {
    if depth == 0 {
        return Err(io::Error::other(format!(
            "{}: nested too deeply",
            from.display()
        )));
    }
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            copy_within(&entry.path(), &target, depth - 1)?;
        } else if kind.is_file() {
            fs::copy(entry.path(), &target)?;
            fs::File::open(&target)?.sync_all()?;
        } else {
            let path = entry.path();
            return Err(io::Error::other(format!(
                "{}: neither a file nor a folder",
                path.display()
            )));
        }
    }
    fs::File::open(to)?.sync_all()
}

/// Removes a folder if there is one.
pub(super) fn remove_folder(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_all_and_only_regular_things() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        fs::create_dir_all(from.join("a/b")).expect("folders");
        fs::write(from.join("a/b/c"), vec![7; 100_000]).expect("a file");
        fs::write(from.join("d"), "").expect("a file");
        copy_folder(&from, &to).expect("copied");
        assert_eq!(fs::read(to.join("a/b/c")).expect("there"), vec![7; 100_000]);
        assert_eq!(fs::read(to.join("d")).expect("there"), b"");
        assert!(copy_folder(&from, &to).is_err(), "it exists");
        std::os::unix::fs::symlink("x", from.join("link")).expect("a link");
        assert!(copy_folder(&from, &folder.path().join("again")).is_err());
        remove_folder(&to).expect("removed");
        remove_folder(&to).expect("nothing to remove");
        assert!(!to.exists());
    }
}
