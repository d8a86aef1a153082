//! The store's directory: its lock, its format file, its size.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::failure::OpenError;
use crate::inventory::Inventory;

/// The schema this program writes, and the only one it reads. Never reuse a number.
pub(crate) const SCHEMA_VERSION: u32 = 1;

/// How long to wait for a lock: a process that was just killed, or a child between fork and exec, holds it for moments.
const LOCK_PATIENCE: Duration = Duration::from_millis(500);
const LOCK_PAUSE: Duration = Duration::from_millis(5);

const FORMAT_FILE: &str = "FORMAT";
const NEW_FORMAT_FILE: &str = "FORMAT.new";
const LOCK_FILE: &str = "LOCK";
/// Where the log's slots are.
pub(crate) const LOG: &str = "log";
/// Where the sorted tables are, each in a folder of its own.
pub(crate) const TABLES: &str = "tables";
/// The folders with all that is stored.
pub(crate) const STORED: [&str; 2] = [LOG, TABLES];

/// A locked store directory of a known format; unlocked when dropped.
pub(crate) struct Directory {
    path: PathBuf,
    _lock: File,
}

impl Directory {
    /// Creates or opens, locks and checks a store directory of the kind that calls itself `title`.
    pub(crate) fn open(path: &Path, title: &str) -> Result<Self, OpenError> {
        let io = |source| OpenError::Io {
            path: path.to_path_buf(),
            source,
        };
        std::fs::create_dir_all(path).map_err(io)?;
        let lock = lock(path)?;
        match std::fs::read_to_string(path.join(FORMAT_FILE)) {
            Ok(text) => {
                if let Some(made) = check_format(path, title, &text)? {
                    check_whole(path, &made)?;
                    // From now on its files change.
                    write_format(path, title, None).map_err(io)?;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => create_format(path, title)?,
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                return Err(unknown(path, "its FORMAT file is not text".into()));
            }
            Err(error) => return Err(io(error)),
        }
        for folder in STORED {
            std::fs::create_dir_all(path.join(folder)).map_err(io)?;
        }
        sync_directory(path).map_err(io)?;
        if let Some(parent) = path.canonicalize().map_err(io)?.parent() {
            // So that the directory's own name survives; a parent that cannot be opened is not ours to insist on.
            let _ = sync_directory(parent);
        }
        Ok(Self {
            path: path.to_path_buf(),
            _lock: lock,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Where the log's slots are.
    pub(crate) fn log(&self) -> PathBuf {
        self.path.join(LOG)
    }

    /// Where the sorted tables are.
    pub(crate) fn tables(&self) -> PathBuf {
        self.path.join(TABLES)
    }
}

/// A store directory that is only read, and locked where that is possible without writing.
pub(crate) struct Inspected {
    _lock: Option<File>,
    /// Why the copy that it is, not yet opened, is not whole.
    pub(crate) difference: Option<String>,
}

impl Inspected {
    /// Checks that the directory is a store of the kind that calls itself `title`.
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
        let text = match std::fs::read_to_string(path.join(FORMAT_FILE)) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound && path.is_dir() => {
                return Err(unknown(path, "it holds no FORMAT file".into()));
            }
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                return Err(unknown(path, "its FORMAT file is not text".into()));
            }
            Err(error) => return Err(io(error)),
        };
        let difference = match check_format(path, title, &text)? {
            Some(made) => made.difference(&Inventory::take(path).map_err(io)?),
            None => None,
        };
        Ok(Self {
            _lock: lock,
            difference,
        })
    }
}

/// Locks a folder by its file `LOCK`, for as long as what is given lives.
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

/// Refuses what is not a store of this kind and version. Gives what it must consist of if it is a copy not yet opened.
fn check_format(path: &Path, title: &str, text: &str) -> Result<Option<Inventory>, OpenError> {
    let foreign = || unknown(path, "its FORMAT file is not one of this program".into());
    let mut lines = text.lines();
    let found_title = lines.next().unwrap_or_default();
    let mut next = || lines.next().ok_or_else(foreign);
    let mut line = next()?;
    // Before the version, so that no part of the file is that of an ordinary store.
    let made = Inventory::parse(line);
    if made.is_some() {
        line = next()?;
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
    match version {
        SCHEMA_VERSION => Ok(made),
        found if found > SCHEMA_VERSION => Err(OpenError::NewerVersion {
            path: path.to_path_buf(),
            found,
            known: SCHEMA_VERSION,
        }),
        _ => Err(foreign()),
    }
}

fn check_whole(path: &Path, made: &Inventory) -> Result<(), OpenError> {
    let found = Inventory::take(path).map_err(|source| OpenError::Io {
        path: path.to_path_buf(),
        source,
    })?;
    match made.difference(&found) {
        None => Ok(()),
        Some(reason) => Err(OpenError::Corrupt {
            path: path.to_path_buf(),
            reason,
        }),
    }
}

/// The start of a foreign title, fit for a terminal.
fn printable(title: &str) -> String {
    title
        .chars()
        .take(80)
        .flat_map(char::escape_debug)
        .collect()
}

/// Writes the format file of a new store, in a directory that is empty but for the lock.
fn create_format(path: &Path, title: &str) -> Result<(), OpenError> {
    let io = |source| OpenError::Io {
        path: path.to_path_buf(),
        source,
    };
    for entry in std::fs::read_dir(path).map_err(io)? {
        let name = entry.map_err(io)?.file_name();
        if name != LOCK_FILE && name != NEW_FORMAT_FILE {
            return Err(unknown(
                path,
                format!("it holds {} but no FORMAT file", name.display()),
            ));
        }
    }
    write_format(path, title, None).map_err(io)
}

/// Makes a copy one that can be opened: the last thing to be written, when all else is durable.
pub(crate) fn finish_copy(path: &Path, title: &str, made: &Inventory) -> io::Result<()> {
    sync_directory(path)?;
    write_format(path, title, Some(made))?;
    if let Some(parent) = path.canonicalize()?.parent() {
        // A parent that cannot be opened is not ours to insist on.
        let _ = sync_directory(parent);
    }
    Ok(())
}

fn write_format(path: &Path, title: &str, made: Option<&Inventory>) -> io::Result<()> {
    let copy = made.map_or(String::new(), |made| format!("{}\n", made.line()));
    let temporary = path.join(NEW_FORMAT_FILE);
    std::fs::write(
        &temporary,
        format!("{title}\n{copy}version {SCHEMA_VERSION}\n"),
    )?;
    File::open(&temporary)?.sync_all()?;
    std::fs::rename(&temporary, path.join(FORMAT_FILE))?;
    sync_directory(path)
}

/// Makes creations, renames and removals in a directory durable.
pub(crate) fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Bytes on disk of all files under a directory.
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
