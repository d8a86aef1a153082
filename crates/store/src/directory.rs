//! The store's directory: its lock, its format file, its size.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::failure::OpenError;

/// The schema this program writes, and the only one it reads. Never reuse a number.
pub(crate) const SCHEMA_VERSION: u32 = 1;

/// How long to wait for a lock: a process that was just killed, or a child between fork and exec, holds it for moments.
const LOCK_PATIENCE: Duration = Duration::from_millis(500);
const LOCK_PAUSE: Duration = Duration::from_millis(5);

const FORMAT_FILE: &str = "FORMAT";
const LOCK_FILE: &str = "LOCK";
const LOG: &str = "log";
const TABLES: &str = "tables";

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
            Ok(text) => check_format(path, title, &text)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => create_format(path, title)?,
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                return Err(unknown(path, "its FORMAT file is not text".into()));
            }
            Err(error) => return Err(io(error)),
        }
        for folder in [LOG, TABLES] {
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

fn lock(path: &Path) -> Result<File, OpenError> {
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
            Err(TryLockError::Error(source)) => return Err(io(source)),
        }
    }
}

fn unknown(path: &Path, reason: String) -> OpenError {
    OpenError::UnknownFormat {
        path: path.to_path_buf(),
        reason,
    }
}

fn check_format(path: &Path, title: &str, text: &str) -> Result<(), OpenError> {
    let (found_title, rest) = text.split_once('\n').unwrap_or((text, ""));
    let version = rest
        .trim()
        .strip_prefix("version ")
        .and_then(|version| version.parse::<u32>().ok());
    match version {
        Some(_) if found_title.trim_end() != title => Err(unknown(
            path,
            format!(
                "its FORMAT file says \"{}\", not \"{title}\"",
                printable(found_title)
            ),
        )),
        Some(SCHEMA_VERSION) => Ok(()),
        Some(found) if found > SCHEMA_VERSION => Err(OpenError::NewerVersion {
            path: path.to_path_buf(),
            found,
            known: SCHEMA_VERSION,
        }),
        _ => Err(unknown(
            path,
            "its FORMAT file is not one of this program".into(),
        )),
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
    let temporary = path.join("FORMAT.new");
    for entry in std::fs::read_dir(path).map_err(io)? {
        let name = entry.map_err(io)?.file_name();
        if name != LOCK_FILE && name != "FORMAT.new" {
            return Err(unknown(
                path,
                format!("it holds {} but no FORMAT file", name.display()),
            ));
        }
    }
    let write = || {
        std::fs::write(&temporary, format!("{title}\nversion {SCHEMA_VERSION}\n"))?;
        File::open(&temporary)?.sync_all()?;
        std::fs::rename(&temporary, path.join(FORMAT_FILE))?;
        sync_directory(path)
    };
    write().map_err(io)
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
