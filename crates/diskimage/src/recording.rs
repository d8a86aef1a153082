//! A recording, read back.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

const HEADER_BYTES: usize = 4096;
const ENTRY_BYTES: usize = 48;

/// Reasons why a recording cannot be used.
#[derive(Debug, Error)]
pub enum RecordingError {
    /// The file cannot be read, or the image not written.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// It is not a recording.
    #[error("not a recording: entry at byte {0}")]
    Malformed(usize),
    /// The process did something that images cannot be made of.
    #[error("the process used {0}, which the recorder cannot follow")]
    Unsupported(String),
}

/// The operations of a process, in order.
#[derive(Debug)]
pub struct Recording {
    bytes: Vec<u8>,
    entries: Vec<usize>,
}

/// One recorded operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Operation<'a> {
    /// A process starts; the recorded directory.
    Root { inode: u64, path: &'a str },
    /// A new file.
    Create { inode: u64, path: &'a str },
    /// A file that was there.
    Open { inode: u64, path: &'a str },
    /// Data.
    Write {
        inode: u64,
        offset: u64,
        data: &'a [u8],
    },
    /// A length.
    Truncate { inode: u64, length: u64 },
    /// Space, and a length at least so large.
    Allocate { inode: u64, end: u64 },
    /// A sync begins.
    SyncBegin { inode: u64 },
    /// A sync has ended.
    SyncEnd {
        inode: u64,
        begin: u64,
        failed: bool,
    },
    /// A rename.
    Rename { from: &'a str, to: &'a str },
    /// Another name of a file.
    Link { from: &'a str, to: &'a str },
    /// A name removed.
    Unlink { path: &'a str },
    /// A new directory.
    Mkdir { inode: u64, path: &'a str },
    /// A directory removed.
    Rmdir { path: &'a str },
    /// The names in a directory, from inode and name.
    Listing { inode: u64, names: &'a [u8] },
    /// Something else.
    Unsupported { call: &'a str },
}

impl Recording {
    /// Reads a recording.
    pub fn load(path: &Path) -> Result<Self, RecordingError> {
        let bytes = std::fs::read(path).map_err(|source| RecordingError::Io {
            path: path.to_path_buf(),
            source,
        })?;
        if !bytes.starts_with(b"RECORDER") || bytes.len() < HEADER_BYTES {
            return Err(RecordingError::Malformed(0));
        }
        let end = word(&bytes, 16) as usize + HEADER_BYTES;
        let mut entries = Vec::new();
        let mut at = HEADER_BYTES;
        while at < end {
            let length = bytes
                .get(at..at + 4)
                .map_or(0, |b| u32::from_ne_bytes(b.try_into().unwrap_or_default()));
            if (length as usize) < ENTRY_BYTES || at + length as usize > bytes.len() {
                return Err(RecordingError::Malformed(at));
            }
            entries.push(at);
            at += length as usize;
        }
        let recording = Self { bytes, entries };
        for (sequence, operation) in recording.operations() {
            match operation {
                None => {
                    return Err(RecordingError::Malformed(
                        recording.entries[sequence as usize - 1],
                    ));
                }
                Some(Operation::Unsupported { call }) => {
                    return Err(RecordingError::Unsupported(call.into()));
                }
                Some(_) => {}
            }
        }
        Ok(recording)
    }

    /// Returns the last operation's number; operations are numbered from 1.
    pub fn last(&self) -> u64 {
        self.entries.len() as u64
    }

    /// Returns the operation of a number.
    pub fn operation(&self, sequence: u64) -> Option<Operation<'_>> {
        let at = *self
            .entries
            .get(usize::try_from(sequence.checked_sub(1)?).ok()?)?;
        self.parse(at)
    }

    /// Returns all operations with their numbers; `None` for one that is malformed, which [`Recording::load`] refuses.
    pub fn operations(&self) -> impl Iterator<Item = (u64, Option<Operation<'_>>)> {
        self.entries
            .iter()
            .zip(1..)
            .map(|(at, sequence)| (sequence, self.parse(*at)))
    }

    fn parse(&self, at: usize) -> Option<Operation<'_>> {
        let bytes = &self.bytes[at..];
        let op = u32::from_ne_bytes(bytes[4..8].try_into().ok()?);
        let (inode, a, b) = (word(bytes, 16), word(bytes, 24), word(bytes, 32));
        let lengths = word(bytes, 40);
        let (name, data) = ((lengths & 0xffff_ffff) as usize, (lengths >> 32) as usize);
        let path = std::str::from_utf8(bytes.get(ENTRY_BYTES..ENTRY_BYTES + name)?).ok()?;
        let data = bytes.get(ENTRY_BYTES + name..ENTRY_BYTES + name + data)?;
        Some(match op {
            1 => Operation::Root { inode, path },
            2 => Operation::Create { inode, path },
            3 => Operation::Open { inode, path },
            4 => Operation::Write {
                inode,
                offset: a,
                data,
            },
            5 => Operation::Truncate { inode, length: a },
            6 => Operation::Allocate { inode, end: a + b },
            7 => Operation::SyncBegin { inode },
            8 => Operation::SyncEnd {
                inode,
                begin: a,
                failed: b != 0,
            },
            9 => Operation::Rename {
                from: path,
                to: std::str::from_utf8(data).ok()?,
            },
            10 => Operation::Unlink { path },
            11 => Operation::Mkdir { inode, path },
            12 => Operation::Rmdir { path },
            13 => Operation::Listing { inode, names: data },
            14 => Operation::Unsupported { call: path },
            15 => Operation::Link {
                from: path,
                to: std::str::from_utf8(data).ok()?,
            },
            _ => return None,
        })
    }
}

/// Returns the inode and the name of each entry of a listing.
pub(crate) fn listed(mut names: &[u8]) -> impl Iterator<Item = (u64, &str)> {
    std::iter::from_fn(move || {
        let (inode, rest) = names.split_at_checked(8)?;
        let (length, rest) = rest.split_at_checked(2)?;
        let length = u16::from_ne_bytes(length.try_into().ok()?) as usize;
        let (name, rest) = rest.split_at_checked(length)?;
        names = rest;
        Some((word(inode, 0), std::str::from_utf8(name).ok()?))
    })
}

fn word(bytes: &[u8], at: usize) -> u64 {
    bytes
        .get(at..at + 8)
        .map_or(0, |b| u64::from_ne_bytes(b.try_into().unwrap_or_default()))
}
