//! The store's directory: its lock, its format file, its size.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::copy_inventory::CopyInventory;
use crate::custody::StoreId;
use crate::failure::OpenError;

/// The schema this program writes: its stores have an inventory. Never reuse a number.
pub(crate) const SCHEMA_VERSION: u32 = 2;
/// The schema of stores without an inventory, which are adopted when they are opened.
const SCHEMA_UNLISTED: u32 = 1;

/// Time limit for the lock. A process that was just killed, or a child between fork and exec, can hold it for a moment.
const LOCK_PATIENCE: Duration = Duration::from_millis(500);
const LOCK_PAUSE: Duration = Duration::from_millis(5);

pub(crate) const FORMAT_FILE: &str = "FORMAT";
const LOCK_FILE: &str = "LOCK";
/// The text before the store's id in the `FORMAT` file.
const STORE_LABEL: &str = "store ";
/// The folder of the log's slots.
pub(crate) const LOG: &str = "log";
/// The folder of the sorted tables, each in a folder of its own.
pub(crate) const TABLES: &str = "tables";
/// The folders that hold all data of the store.
pub(crate) const STORED: [&str; 2] = [LOG, TABLES];

/// A locked store directory of a known format; unlocked when dropped.
pub(crate) struct Directory {
    path: PathBuf,
    _lock: File,
}

impl Directory {
    /// Takes over a directory that was locked and checked.
    pub(crate) fn new(path: &Path, lock: File) -> Self {
        Self {
            path: path.to_path_buf(),
            _lock: lock,
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the folder of the log's slots.
    pub(crate) fn log(&self) -> PathBuf {
        self.path.join(LOG)
    }

    /// Returns the folder of the sorted tables.
    pub(crate) fn tables(&self) -> PathBuf {
        self.path.join(TABLES)
    }
}

/// A store directory that is only read. It is locked if its lock file exists, because making one would write.
pub(crate) struct Inspected {
    _lock: Option<File>,
    /// If it is a copy that was never opened and is incomplete: the reason.
    pub(crate) difference: Option<String>,
    /// Whether it is a copy that was never opened and has all its files.
    pub(crate) is_whole_copy: bool,
}

impl Inspected {
    /// Checks that the directory holds a store whose kind has this title.
    pub(crate) fn open(path: &Path, title: &str) -> Result<Self, OpenError> {
        let io = |source| OpenError::Io {
            path: path.to_path_buf(),
            source,
        };
        let lock = match File::open(path.join(LOCK_FILE)) {
            Ok(file) => Some(wait_for(path, file)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(io(error)),
        };
        let Some(format) = read_format(path, title)? else {
            if path.is_dir() {
                return Err(unknown(path, "it holds no FORMAT file".into()));
            }
            return Err(io(io::ErrorKind::NotFound.into()));
        };
        let difference = match format.copy {
            Some(made) => made.difference(&CopyInventory::take(path, &STORED).map_err(io)?),
            None => None,
        };
        Ok(Self {
            _lock: lock,
            is_whole_copy: format.copy.is_some() && difference.is_none(),
            difference,
        })
    }
}

/// Refuses a store that another process has open. Holds the lock for no longer than the question takes, so that a process that
/// opens the store meanwhile waits for a moment at most.
pub(crate) fn refuse_in_use(path: &Path) -> Result<(), OpenError> {
    let file = match File::open(path.join(LOCK_FILE)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(source) => {
            return Err(OpenError::Io {
                path: path.join(LOCK_FILE),
                source,
            });
        }
    };
    wait_for(path, file).map(drop)
}

/// Locks a folder by its file `LOCK`, until the returned file is dropped.
pub(crate) fn lock(path: &Path) -> Result<File, OpenError> {
    let file = path.join(LOCK_FILE);
    let io = |source| OpenError::Io {
        path: file.clone(),
        source,
    };
    let lock = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(&file)
        .map_err(io)?;
    wait_for(path, lock)
}

fn wait_for(path: &Path, lock: File) -> Result<File, OpenError> {
    let deadline = Instant::now() + LOCK_PATIENCE;
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(lock),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                std::thread::sleep(LOCK_PAUSE)
            }
            Err(TryLockError::WouldBlock) => {
                return Err(OpenError::Locked {
                    path: path.to_path_buf(),
                });
            }
            Err(TryLockError::Error(source)) => {
                return Err(OpenError::Io {
                    path: path.join(LOCK_FILE),
                    source,
                });
            }
        }
    }
}

fn unknown(path: &Path, reason: String) -> OpenError {
    OpenError::UnknownFormat {
        path: path.to_path_buf(),
        reason,
    }
}

/// The contents of a `FORMAT` file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Format {
    /// The files that it must consist of, if it is a copy that was never opened.
    pub(crate) copy: Option<CopyInventory>,
    /// Its id; none in a copy, and in a store made before there were inventories.
    pub(crate) store: Option<StoreId>,
}

/// Reads the `FORMAT` file of a store of the kind that calls itself `title`; `None` if there is none.
pub(crate) fn read_format(path: &Path, title: &str) -> Result<Option<Format>, OpenError> {
    match std::fs::read_to_string(path.join(FORMAT_FILE)) {
        Ok(text) => parse_format(path, title, &text).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            Err(unknown(path, "its FORMAT file is not text".into()))
        }
        Err(source) => Err(OpenError::Io {
            path: path.to_path_buf(),
            source,
        }),
    }
}

fn parse_format(path: &Path, title: &str, text: &str) -> Result<Format, OpenError> {
    let foreign = || unknown(path, "its FORMAT file is not one of this program".into());
    let mut lines = text.lines();
    // An empty file has no second line either, and is refused for that.
    let found_title = lines.next().unwrap_or_default();
    let mut line = lines.next().ok_or_else(foreign)?;
    // The inventory comes before the version, so that a partly written file is never that of an ordinary store.
    let copy = CopyInventory::parse(line);
    let store = line.strip_prefix(STORE_LABEL).and_then(StoreId::parse);
    if copy.is_some() || store.is_some() {
        line = lines.next().ok_or_else(foreign)?;
    }
    let version = line
        .trim()
        .strip_prefix("version ")
        .and_then(|version| version.parse::<u32>().ok())
        .ok_or_else(foreign)?;
    if found_title.trim_end() != title {
        return Err(unknown(
            path,
            format!(
                "its FORMAT file says \"{}\", not \"{title}\"",
                printable(found_title)
            ),
        ));
    }
    let format = Format { copy, store };
    match version {
        SCHEMA_UNLISTED if store.is_none() => Ok(format),
        SCHEMA_VERSION if copy.is_some() || store.is_some() => Ok(format),
        found if found > SCHEMA_VERSION => Err(OpenError::NewerVersion {
            path: path.to_path_buf(),
            found,
            known: SCHEMA_VERSION,
        }),
        _ => Err(foreign()),
    }
}

/// Refuses a copy if one of its files is missing or has another length.
pub(crate) fn check_whole(path: &Path, made: &CopyInventory) -> Result<(), OpenError> {
    match made.difference(&take_inventory(path)?) {
        None => Ok(()),
        Some(reason) => Err(OpenError::Corrupt {
            path: path.to_path_buf(),
            reason,
        }),
    }
}

/// Returns the inventory of a store's files, to compare it with that of a copy.
pub(crate) fn take_inventory(path: &Path) -> Result<CopyInventory, OpenError> {
    CopyInventory::take(path, &STORED).map_err(|source| OpenError::Io {
        path: path.to_path_buf(),
        source,
    })
}

/// Returns the start of an unknown title, escaped so that a terminal can show it.
fn printable(title: &str) -> String {
    title
        .chars()
        .take(80)
        .flat_map(char::escape_debug)
        .collect()
}

/// Refuses to make a store in a directory that holds other files than those that an interrupted creation leaves.
pub(crate) fn refuse_strangers(path: &Path, ours: &[&Path]) -> Result<(), OpenError> {
    let io = |source| OpenError::Io {
        path: path.to_path_buf(),
        source,
    };
    for entry in std::fs::read_dir(path).map_err(io)? {
        let entry = entry.map_err(io)?;
        let (name, found) = (entry.file_name(), entry.path());
        let ours = ours
            .iter()
            .any(|file| **file == *found || new_name(file) == found);
        if name != LOCK_FILE && found != new_name(&path.join(FORMAT_FILE)) && !ours {
            return Err(unknown(
                path,
                format!("it holds {} but no FORMAT file", name.display()),
            ));
        }
    }
    Ok(())
}

/// Writes the FORMAT file of a copy, which makes it a store that can be opened. It is written last, when everything else is durable.
pub(crate) fn finish_copy(path: &Path, title: &str, made: &CopyInventory) -> io::Result<()> {
    sync_directory(path)?;
    let text = format!("{title}\n{}\nversion {SCHEMA_VERSION}\n", made.line());
    replace_file(&path.join(FORMAT_FILE), text.as_bytes())?;
    sync_with_parent(path)
}

/// Writes the `FORMAT` file of a store that has an inventory.
pub(crate) fn write_format(path: &Path, title: &str, store: StoreId) -> io::Result<()> {
    let text = format!("{title}\n{STORE_LABEL}{store}\nversion {SCHEMA_VERSION}\n");
    replace_file(&path.join(FORMAT_FILE), text.as_bytes())
}

/// Replaces a file, durably: after a crash it is the old one or the new one.
pub(crate) fn replace_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let new = new_name(path);
    std::fs::write(&new, bytes)?;
    File::open(&new)?.sync_all()?;
    std::fs::rename(&new, path)?;
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => sync_directory(parent),
        _ => sync_directory(Path::new(".")),
    }
}

fn new_name(path: &Path) -> PathBuf {
    // A path without a name is refused later: nothing can be renamed to it.
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    path.with_file_name(name)
}

/// Makes a directory's entries durable, and its name in its parent.
pub(crate) fn sync_with_parent(path: &Path) -> io::Result<()> {
    sync_up_to(path, None)
}

/// Makes a directory's entries durable, its own name, and the names of all directories between it and `top`. Without a `top` above
/// the directory, its own name is the last one.
pub(crate) fn sync_up_to(path: &Path, top: Option<&Path>) -> io::Result<()> {
    sync_directory(path)?;
    let path = path.canonicalize()?;
    let top = top.map(Path::canonicalize).transpose()?;
    let below_top = top.and_then(|top| Some(path.strip_prefix(top).ok()?.components().count()));
    let parents = path.ancestors().skip(1).take(below_top.unwrap_or(1));
    for parent in parents {
        // The process may lack the permission to open a parent.
        let _ = sync_directory(parent);
    }
    Ok(())
}

/// Makes creations, renames and removals in a directory durable.
pub(crate) fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Returns the bytes on disk of all files under a directory.
pub(crate) fn disk_bytes(path: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(path) else {
        return 0;
    };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(meta) if meta.is_dir() => disk_bytes(&entry.path()),
            Ok(meta) => std::os::unix::fs::MetadataExt::blocks(&meta) * 512,
            Err(_) => 0,
        })
        .sum()
}
