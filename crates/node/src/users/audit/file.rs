//! The file of the audit log. A full one is set aside; the last few are kept.

use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::archive;
use super::line::AuditLine;
use crate::users::error::UsersError;

const NAME: &str = "audit.log";
/// A file is set aside at this size, in bytes.
pub(super) const FILE_BYTES_MAX: u64 = 64 << 20;
/// Files set aside that are kept: `audit.log.1` is the newest.
const KEPT_MAX: u32 = 4;

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
        match append(&path) {
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
        let file = append(&path)?;
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
        self.bytes = self.bytes + length;
        Ok(())
    }

    pub(super) fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }

    fn set_aside(&mut self) -> std::io::Result<()> {
        self.file.flush()?;
        let numbered = |n: u32| self.path.with_extension(format!("log.{n}"));
        archive::keep(&numbered(KEPT_MAX), &self.path, self.bytes_max)?;
        for n in (1..KEPT_MAX).rev() {
            match fs::rename(numbered(n), numbered(n + 1)) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        fs::rename(&self.path, numbered(1))?;
        self.file = BufWriter::new(append(&self.path)?);
        self.bytes = 0;
        Ok(())
    }
}

/// A line as the file has it.
fn text_of(line: &impl Serialize) -> std::io::Result<Vec<u8>> {
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    Ok(text)
}

fn append(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o600).open(path)
}
