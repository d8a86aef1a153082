//! The file of the audit log. A full one is set aside; the last few are kept.
//!
//! The first line of a file names the log that it belongs to and its number in it. So a log that was deleted, emptied or
//! replaced is told from the one of before, also if a command has begun a new one since.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, BufWriter, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use kernel::folder::AuditMark;
use serde::Serialize;

use super::archive;
use super::header::{Header, mark_of_line};
use super::line::AuditLine;
use crate::users::error::UsersError;

const NAME: &str = "audit.log";
/// A file is set aside at this size, in bytes.
pub(super) const FILE_BYTES_MAX: u64 = 64 << 20;
/// Files set aside that are kept: `audit.log.1` is the newest.
const KEPT_MAX: u32 = 4;
/// Longest first line that is read, in bytes.
const HEADER_BYTES_MAX: u64 = 16 << 10;

/// The path of the log of a node's folder.
pub(super) fn path_of(folder: &Path) -> PathBuf {
    folder.join(NAME)
}

/// The log of a folder, for a command that changes the folder while a node may run there.
#[derive(Debug)]
pub struct AuditFile {
    path: PathBuf,
    file: File,
}

impl AuditFile {
    /// Opens the log, so that a change that could not be noted is not made.
    ///
    /// # Errors
    /// The file can't be opened.
    pub fn open(folder: &Path) -> Result<Self, UsersError> {
        let path = path_of(folder);
        match open_or_begin(&path) {
            Ok(file) => Ok(Self { path, file }),
            Err(source) => Err(UsersError::File { path, source }),
        }
    }

    /// Writes a line in one piece, durably.
    ///
    /// # Errors
    /// The line can't be written.
    pub fn write(&mut self, line: &AuditLine) -> Result<(), UsersError> {
        let written = text_of(line).and_then(|text| {
            self.file.write_all(&text)?;
            self.file.sync_data()
        });
        written.map_err(|source| UsersError::File {
            path: self.path.clone(),
            source,
        })
    }
}

/// The file that a running log writes.
pub(super) struct LogFile {
    path: PathBuf,
    file: BufWriter<File>,
    bytes: u64,
    bytes_max: u64,
}

impl LogFile {
    pub(super) fn open(path: PathBuf, bytes_max: u64) -> std::io::Result<Self> {
        let file = open_or_begin(&path)?;
        Ok(Self {
            bytes: file.metadata()?.len(),
            path,
            file: BufWriter::new(file),
            bytes_max,
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn line(&mut self, line: &impl Serialize) -> std::io::Result<()> {
        let text = text_of(line)?;
        let length = text.len() as u64;
        if self.bytes > 0 && self.bytes + length > self.bytes_max {
            self.set_aside()?;
        }
        self.file.write_all(&text)?;
        self.bytes += length;
        Ok(())
    }

    pub(super) fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }

    /// Makes all lines durable.
    pub(super) fn sync(&mut self) -> std::io::Result<()> {
        self.file.flush()?;
        self.file.get_ref().sync_data()
    }

    /// Whether the file was deleted, replaced or cut since the last look. If so, the log goes on in the file that is there now, or
    /// in a new one.
    pub(super) fn was_lost(&mut self) -> std::io::Result<bool> {
        if !self.file.buffer().is_empty() {
            // The last lines could not be written, so the length says nothing.
            return Ok(false);
        }
        let own = self.file.get_ref().metadata()?;
        let is_same = match fs::metadata(&self.path) {
            Ok(found) => (found.dev(), found.ino()) == (own.dev(), own.ino()),
            Err(error) if error.kind() == ErrorKind::NotFound => false,
            Err(error) => return Err(error),
        };
        let is_whole = own.len() >= self.bytes;
        if is_same && is_whole {
            // A command may have added lines.
            self.bytes = own.len();
            return Ok(false);
        }
        *self = Self::open(self.path.clone(), self.bytes_max)?;
        Ok(true)
    }

    fn set_aside(&mut self) -> std::io::Result<()> {
        self.file.flush()?;
        let _lock = lock(&self.path)?;
        let numbered = |n: u32| self.path.with_extension(format!("log.{n}"));
        let header = match mark_of(&self.path)? {
            Some(mark) => Header::after(&mark),
            None => Header::new()?,
        };
        let own = self.file.get_ref().metadata()?.ino();
        if fs::metadata(numbered(1)).is_ok_and(|found| found.ino() == own) {
            // A crash came between the link and the new file, below.
            fs::remove_file(numbered(1))?;
        }
        // Before any file is moved, so that a full disk moves none out.
        let new = prepare(&self.path, &header)?;
        let free = (1..=KEPT_MAX).find(|n| !numbered(*n).exists());
        if free.is_none() {
            archive::keep(&numbered(KEPT_MAX), &self.path, self.bytes_max)?;
        }
        for n in (1..free.unwrap_or(KEPT_MAX)).rev() {
            fs::rename(numbered(n), numbered(n + 1))?;
        }
        // With a second name for the full file, there is a log under its own name at every moment, if the file system has links.
        if fs::hard_link(&self.path, numbered(1)).is_err() {
            fs::rename(&self.path, numbered(1))?;
        }
        place(&new, &self.path)?;
        let file = append(&self.path)?;
        self.bytes = file.metadata()?.len();
        self.file = BufWriter::new(file);
        Ok(())
    }
}

/// Returns the position in the log at the end of a file. `None` if the file is missing or empty.
pub(super) fn mark_of(path: &Path) -> std::io::Result<Option<AuditMark>> {
    let file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let bytes = file.metadata()?.len();
    let mut first = Vec::new();
    BufReader::new(file.take(HEADER_BYTES_MAX)).read_until(b'\n', &mut first)?;
    Ok((!first.is_empty()).then(|| mark_of_line(&first, bytes)))
}

/// Opens a log, or creates it if there is none.
fn open_or_begin(path: &Path) -> std::io::Result<File> {
    let is_begun = || fs::metadata(path).is_ok_and(|found| found.len() > 0);
    if !is_begun() {
        let _lock = lock(path)?;
        if !is_begun() {
            let new = prepare(path, &Header::new()?)?;
            place(&new, path)?;
        }
    }
    let mut file = append(path)?;
    if !ends_with_a_line(path)? {
        // A write that failed or a crash has left a part of a line.
        file.write_all(b"\n")?;
    }
    Ok(file)
}

fn ends_with_a_line(path: &Path) -> std::io::Result<bool> {
    let mut file = File::open(path)?;
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

/// Writes a new file with its first line under another name, so that it is put in place whole or not at all.
fn prepare(path: &Path, header: &Header) -> std::io::Result<PathBuf> {
    let new = path.with_extension("log.new");
    let mut options = OpenOptions::new();
    let options = options.write(true).create(true).truncate(true).mode(0o600);
    let mut file = options.open(&new)?;
    file.write_all(&text_of(header)?)?;
    file.sync_all()?;
    Ok(new)
}

fn place(new: &Path, path: &Path) -> std::io::Result<()> {
    fs::rename(new, path)?;
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => File::open(folder)?.sync_all(),
        _ => Ok(()),
    }
}

/// Locks the creation of log files, so that two processes never begin one at the same time. The lock is held until the result is dropped.
fn lock(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    let options = options.write(true).create(true).truncate(false).mode(0o600);
    let file = options.open(path.with_extension("log.lock"))?;
    file.lock()?;
    Ok(file)
}

/// Returns a line in the form of the file.
fn text_of(line: &impl Serialize) -> std::io::Result<Vec<u8>> {
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    Ok(text)
}

fn append(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().append(true).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(n: u32) -> AuditLine {
        AuditLine::new("ann".into(), None, &format!("{n:06}"))
    }

    fn mark(path: &Path) -> AuditMark {
        mark_of(path).expect("readable").expect("begun")
    }

    #[test]
    fn a_log_goes_on_through_its_files_and_is_lost_with_any_of_them() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = path_of(folder.path());
        assert_eq!(mark_of(&path).expect("readable"), None);
        let mut log = LogFile::open(path.clone(), 2_000).expect("a log");
        let first = mark(&path);
        for n in 0..100 {
            log.line(&line(n)).expect("written");
        }
        log.flush().expect("written");
        assert!(!log.was_lost().expect("readable"));
        let later = mark(&path);
        assert!(later.follows(&first) && !first.follows(&later));
        AuditFile::open(folder.path())
            .and_then(|mut file| file.write(&line(100)))
            .expect("written");
        assert!(
            !log.was_lost().expect("readable"),
            "a command has added a line"
        );

        // The file is deleted, then replaced by a command's, then emptied, then cut, then replaced by an older one.
        fs::remove_file(&path).expect("there");
        assert!(log.was_lost().expect("readable"));
        fs::remove_file(&path).expect("there");
        AuditFile::open(folder.path())
            .and_then(|mut file| file.write(&line(0)))
            .expect("written");
        assert!(!mark(&path).follows(&later), "another log");
        assert!(log.was_lost().expect("readable"));
        fs::write(&path, "").expect("emptied");
        assert!(log.was_lost().expect("readable"));
        let before = fs::read(&path).expect("there");
        log.line(&line(1)).expect("written");
        log.flush().expect("written");
        let long = mark(&path);
        fs::write(&path, before).expect("cut");
        assert!(!mark(&path).follows(&long), "shorter");
        assert!(log.was_lost().expect("readable"));
        fs::rename(path.with_extension("log.1"), &path).expect("moved");
        assert!(log.was_lost().expect("readable"));
        assert!(!log.was_lost().expect("readable"));
    }

    #[test]
    fn a_log_without_a_first_line_of_its_own_is_known_by_its_first_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = path_of(folder.path());
        fs::write(&path, "{\"time_ms\":1}\n").expect("written");
        let old = mark(&path);
        let mut log = LogFile::open(path.clone(), 200).expect("a log");
        for n in 0..10 {
            log.line(&line(n)).expect("written");
        }
        log.flush().expect("written");
        assert!(mark(&path).follows(&old));
        fs::write(&path, "{\"time_ms\":2}\n").expect("written");
        assert!(!mark(&path).follows(&old));
    }

    #[test]
    fn a_line_begins_on_a_line_of_its_own_after_a_torn_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = path_of(folder.path());
        fs::write(&path, "{\"time_ms\":1}\n{\"half").expect("written");
        let file = AuditFile::open(folder.path());
        file.and_then(|mut file| file.write(&line(7)))
            .expect("written");
        let text = fs::read_to_string(&path).expect("there");
        let last = text.lines().last().expect("a line");
        assert!(
            serde_json::from_str::<serde_json::Value>(last).is_ok(),
            "{text}"
        );
    }

    #[test]
    fn a_crash_while_a_file_is_set_aside_loses_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = path_of(folder.path());
        let mut log = LogFile::open(path.clone(), 300).expect("a log");
        log.line(&line(0)).expect("written");
        log.flush().expect("written");
        let before = mark(&path);
        // The full file has its second name, and the new one is not there yet.
        fs::hard_link(&path, path.with_extension("log.1")).expect("linked");
        let mut log = LogFile::open(path.clone(), 300).expect("a log");
        for n in 1..4 {
            log.line(&line(n)).expect("written");
        }
        log.flush().expect("written");
        assert!(mark(&path).follows(&before));
        let all: String = (1..=4)
            .map(|n| path.with_extension(format!("log.{n}")))
            .chain([path.clone()])
            .map(|path| fs::read_to_string(path).unwrap_or_default())
            .collect();
        for n in 0..4 {
            assert_eq!(all.matches(&format!("{n:06}")).count(), 1, "{all}");
        }
    }
}
