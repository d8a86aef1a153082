//! Paths of a coordinator's share: always within its folder.

use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::topology::host::HostError;

/// Networks of one coordinator at most.
pub(super) const FOLDERS_MAX: usize = 16;
/// The longest path, and its most parts.
const PATH_BYTES_MAX: usize = 512;
const PATH_PARTS_MAX: usize = 16;

/// Returns the path for something new. Refuses one network more than a share may have.
pub(super) fn resolve_new(folder: &Path, path: &str) -> Result<PathBuf, HostError> {
    let whole = resolve(folder, path)?;
    let first = Path::new(path).components().next();
    let is_new = first.is_some_and(|first| !folder.join(first).exists());
    let there = fs::read_dir(folder).map_or(0, Iterator::count);
    match is_new && there >= FOLDERS_MAX {
        true => Err(refused(format!("more than {FOLDERS_MAX} networks"))),
        false => Ok(whole),
    }
}

/// Returns a path within the folder. Refuses everything that could lead out of it.
pub(super) fn resolve(folder: &Path, path: &str) -> Result<PathBuf, HostError> {
    let bad = || refused(format!("{path:?} is no path within the folder of this run"));
    let parts: Vec<Component> = Path::new(path).components().collect();
    let mut plain = parts
        .iter()
        .map(|part| matches!(part, Component::Normal(_)));
    let is_short = path.len() <= PATH_BYTES_MAX && parts.len() <= PATH_PARTS_MAX;
    if parts.is_empty() || !plain.all(|plain| plain) || !is_short || path.contains('\0') {
        return Err(bad());
    }
    let mut whole = folder.to_owned();
    for part in parts {
        whole.push(part);
        let is_link = fs::symlink_metadata(&whole).is_ok_and(|found| found.is_symlink());
        if is_link {
            return Err(bad());
        }
    }
    Ok(whole)
}

pub(super) fn refused(message: impl ToString) -> HostError {
    HostError::Refused {
        host: String::new(),
        message: message.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_within_the_folder() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let folder = folder.path();
        std::os::unix::fs::symlink("/etc", folder.join("link")).expect("a link");
        for (path, allowed) in [
            ("a", true),
            ("a/b/c", true),
            ("a//b/./c", true),
            ("", false),
            ("/etc/passwd", false),
            ("../a", false),
            ("a/../../b", false),
            ("link", false),
            ("link/passwd", false),
            ("a\0b", false),
            (&"a/".repeat(PATH_PARTS_MAX + 1), false),
            (&"a".repeat(PATH_BYTES_MAX + 1), false),
        ] {
            let found = resolve(folder, path).ok();
            assert_eq!(found.is_some(), allowed, "{path:?}");
            assert!(found.is_none_or(|found| found.starts_with(folder)));
        }
    }
}
