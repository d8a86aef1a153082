//! Copies and checks the files of a sorted table without opening the table.
//!
//! ```text
//! tables/NAME/current     u64 N | XXH3-128 of vN | 0            little endian
//! tables/NAME/vN          the list: levels, runs, and of each file its number and XXH3-128
//! tables/NAME/tables/M    a sorted file, never changed
//! ```

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};

use lsm_tree::{AbstractTree, Table};
use xxhash_rust::xxh3::Xxh3Default;

use crate::custody::TableListing;
use crate::directory::sync_directory;
use crate::sorted::Sorted;

const CURRENT: &str = "current";
const FILES: &str = "tables";
/// Attempts to read the list of files while merges replace it. A merge replaces it once.
const CHANGES_MAX: usize = 1000;
/// A file is read in pieces of this size.
const PIECE_BYTES: usize = 1 << 20;

/// A table's sorted files at one moment. They are not removed while this lives.
pub(crate) struct SortedCopy {
    folder: PathBuf,
    list_name: String,
    files: Vec<Table>,
    list: Vec<u8>,
    current: Vec<u8>,
}

impl Sorted {
    /// Returns the table's current files. No flush may run meanwhile; merges may.
    pub(crate) fn copy(&self) -> lsm_tree::Result<SortedCopy> {
        for _ in 0..CHANGES_MAX {
            let version = self.tree.current_version();
            let current = std::fs::read(self.path.join(CURRENT))?;
            if current.get(..8) != Some(&version.id().to_le_bytes()) {
                std::thread::yield_now();
                continue;
            }
            let list_name = format!("v{}", version.id());
            match std::fs::read(self.path.join(&list_name)) {
                Ok(list) => {
                    return Ok(SortedCopy {
                        folder: self.path.clone(),
                        list_name,
                        files: version.iter_tables().cloned().collect(),
                        list,
                        current,
                    });
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(io::Error::other("the list of sorted files changed at every attempt to read it").into())
    }
}

impl Sorted {
    /// Describes the newest durable list, for the inventory; `None` if that is the one that is known.
    ///
    /// # Correctness
    /// A tree shows a version only after its list and the pointer to it were synced.
    pub(crate) fn describe(&self, known: Option<u64>) -> io::Result<Option<TableListing>> {
        for _ in 0..CHANGES_MAX {
            let version = self.tree.current_version();
            if known == Some(version.id()) {
                return Ok(None);
            }
            let list = match std::fs::read(self.path.join(format!("v{}", version.id()))) {
                Ok(list) => list,
                // A merge has replaced it meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            let mut files = BTreeMap::new();
            for table in version.iter_tables() {
                let path = self.path.join(FILES).join(table.id().to_string());
                files.insert(table.id(), std::fs::metadata(path)?.len());
            }
            return Ok(Some(TableListing {
                list: version.id(),
                checksum: xxhash_rust::xxh3::xxh3_128(&list),
                files,
            }));
        }
        Err(io::Error::other(
            "the list of sorted files changed at every attempt to read it",
        ))
    }
}

impl SortedCopy {
    /// Writes the table's folder, durably. Returns the number of bytes that it shares with the original through links.
    pub(crate) fn write(&self, to: &Path) -> io::Result<u64> {
        let files = to.join(FILES);
        std::fs::create_dir_all(&files)?;
        let mut linked_bytes = 0;
        for table in &self.files {
            let name = table.id().to_string();
            let (from, to) = (self.folder.join(FILES).join(&name), files.join(&name));
            if std::fs::hard_link(&from, &to).is_ok() {
                linked_bytes += from.metadata()?.len();
            } else {
                std::fs::copy(&from, &to)?;
                File::open(&to)?.sync_all()?;
            }
        }
        sync_directory(&files)?;
        let list = to.join(&self.list_name);
        for (path, bytes) in [(list, &self.list), (to.join(CURRENT), &self.current)] {
            std::fs::write(&path, bytes)?;
            File::open(&path)?.sync_all()?;
        }
        sync_directory(to)?;
        Ok(linked_bytes)
    }
}

/// The result of reading a table's files.
#[derive(Default)]
pub(crate) struct Looked {
    pub(crate) files: u64,
    pub(crate) bytes: u64,
    /// Bytes of files that were left out because they exceeded the budget.
    pub(crate) unread_bytes: u64,
}

/// Reads the files of a table's folder and compares their checksums. Reports each mismatch to `damaged`. Leaves out each file
/// that is longer than the rest of the budget, in bytes, and reduces the budget by the others.
pub(crate) fn inspect(
    folder: &Path,
    budget: &mut u64,
    damaged: &mut dyn FnMut(&Path, String),
) -> Looked {
    let mut looked = Looked::default();
    let list = read_current(folder).and_then(|(id, checksum)| read_list(folder, id, checksum));
    let list = match list {
        Ok(list) => list,
        Err((path, reason)) => {
            damaged(&path, reason);
            return looked;
        }
    };
    for (number, expected) in list {
        let path = folder.join(FILES).join(number.to_string());
        // A file without a readable length is reported below.
        let length = std::fs::metadata(&path).map_or(0, |meta| meta.len());
        if length > *budget {
            looked.unread_bytes += length;
            continue;
        }
        match digest(&path) {
            Ok((found, bytes)) => {
                looked.files += 1;
                looked.bytes += bytes;
                // Clipped at 0: the file has grown since its length was read.
                *budget = budget.saturating_sub(bytes);
                if found != expected {
                    damaged(&path, "its checksum does not match its bytes".into());
                }
            }
            Err(error) => damaged(&path, error.to_string()),
        }
    }
    looked
}

type Misfit = (PathBuf, String);

/// Makes a folder `to` from which the table in `folder` can be opened without any change of its files: copies of the list and its
/// pointer, and links to the sorted files. Does nothing if there is no list yet.
pub(crate) fn link(folder: &Path, to: &Path) -> io::Result<Result<(), Misfit>> {
    if !pointer(folder).exists() {
        return Ok(Ok(()));
    }
    let list =
        read_current(folder).and_then(|(id, checksum)| Ok((id, read_list(folder, id, checksum)?)));
    let (id, list) = match list {
        Ok(found) => found,
        Err(misfit) => return Ok(Err(misfit)),
    };
    std::fs::create_dir_all(to.join(FILES))?;
    for name in [CURRENT.to_owned(), format!("v{id}")] {
        std::fs::copy(folder.join(&name), to.join(&name))?;
    }
    // A link holds from everywhere. A table without sorted files may lack the folder of files, which an opening makes.
    let files = folder.canonicalize()?.join(FILES);
    for (number, _) in list {
        let name = number.to_string();
        std::os::unix::fs::symlink(files.join(&name), to.join(FILES).join(&name))?;
    }
    Ok(Ok(()))
}

/// Returns the path of the pointer to a table's list.
pub(crate) fn pointer(folder: &Path) -> PathBuf {
    folder.join(CURRENT)
}

/// Compares a table's folder with its listing in the inventory. The folder's list of files may be newer than the listing. All
/// files on that list must exist, and those that the inventory lists must have the listed lengths.
pub(crate) fn compare(folder: &Path, known: &TableListing) -> Result<(), Misfit> {
    let (id, checksum) = read_current(folder)?;
    if id < known.list || (id == known.list && checksum != known.checksum) {
        let reason = format!(
            "it points to list {id} (checksum {checksum:032x}), expected list {} or a newer one (checksum {:032x})",
            known.list, known.checksum
        );
        return Err((folder.join(CURRENT), reason));
    }
    for (number, _) in read_list(folder, id, checksum)? {
        let path = folder.join(FILES).join(number.to_string());
        let bytes = match std::fs::metadata(&path) {
            Ok(meta) => meta.len(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err((path, "it is missing".into()));
            }
            Err(error) => return Err((path, error.to_string())),
        };
        match known.files.get(&number) {
            Some(known) if *known != bytes => {
                let reason = format!("it has {bytes} bytes, the inventory lists {known}");
                return Err((path, reason));
            }
            None if !has_end(&path) => return Err((path, "its end is damaged".into())),
            Some(_) | None => {}
        }
    }
    Ok(())
}

/// Returns whether a sorted file has the table of contents at its end.
fn has_end(path: &Path) -> bool {
    sfa::Reader::new(path).is_ok()
}

/// Returns the number of the list and its checksum.
fn read_current(folder: &Path) -> Result<(u64, u128), Misfit> {
    let path = folder.join(CURRENT);
    let current = match std::fs::read(&path) {
        Ok(current) => current,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err((path, "it is missing".into()));
        }
        Err(error) => return Err((path, error.to_string())),
    };
    split_current(&current)
        .ok_or_else(|| (path, "it is not the pointer to a list of files".to_owned()))
}

/// Returns the numbers of the files of a list with their checksums.
fn read_list(folder: &Path, id: u64, checksum: u128) -> Result<Vec<(u64, u128)>, Misfit> {
    let path = folder.join(format!("v{id}"));
    let list = std::fs::read(&path).map_err(|error| (path.clone(), error.to_string()))?;
    if xxhash_rust::xxh3::xxh3_128(&list) != checksum {
        return Err((path, "its checksum does not match its bytes".into()));
    }
    parse_list(&list).ok_or_else(|| {
        (
            path,
            "this program does not know the format of the list of files".into(),
        )
    })
}

fn split_current(bytes: &[u8]) -> Option<(u64, u128)> {
    let (id, rest) = bytes.split_first_chunk::<8>()?;
    let (checksum, kind) = rest.split_first_chunk::<16>()?;
    (kind == [0]).then_some((u64::from_le_bytes(*id), u128::from_le_bytes(*checksum)))
}

fn parse_list(list: &[u8]) -> Option<Vec<(u64, u128)>> {
    let archive = sfa::Reader::from_reader(&mut Cursor::new(list)).ok()?;
    let section = archive.toc().section(b"tables")?;
    let start = usize::try_from(section.pos()).ok()?;
    let end = start.checked_add(usize::try_from(section.len()).ok()?)?;
    let mut bytes = list.get(start..end)?;
    let mut files = Vec::new();
    for _ in 0..take::<1>(&mut bytes)?[0] {
        for _ in 0..take::<1>(&mut bytes)?[0] {
            for _ in 0..u32::from_le_bytes(take(&mut bytes)?) {
                let number = u64::from_le_bytes(take(&mut bytes)?);
                let [0] = take::<1>(&mut bytes)? else {
                    return None;
                };
                let checksum = u128::from_le_bytes(take(&mut bytes)?);
                let _global_sequence = take::<8>(&mut bytes)?;
                files.push((number, checksum));
            }
        }
    }
    bytes.is_empty().then_some(files)
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*taken)
}

/// Returns a file's checksum and length.
fn digest(path: &Path) -> io::Result<(u128, u64)> {
    let mut file = File::open(path)?;
    let mut hasher = Xxh3Default::new();
    let (mut piece, mut bytes) = (vec![0; PIECE_BYTES], 0);
    loop {
        match file.read(&mut piece)? {
            0 => return Ok((hasher.digest128(), bytes)),
            read => {
                hasher.update(&piece[..read]);
                bytes += read as u64;
            }
        }
    }
}
