//! One segment in its slot: appending, syncing, replaying, retiring.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::header::{HEADER_BYTES, Header};
use super::record::{PREFIX_BYTES, Prefix, Row, rows};
use crate::custody::SlotListing;

/// Zeroes are written ahead of the records in pieces of this size, while a slot is used for the first time.
const EXTEND_BYTES: u64 = 1 << 20;

/// A segment is copied in pieces of this size.
const COPY_BYTES: usize = 1 << 20;

/// Why a log cannot be read.
#[derive(Debug, Error)]
pub(crate) enum LogError {
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: io::Error },
    #[error("{path}: {reason}")]
    Damaged { path: PathBuf, reason: String },
    #[error("{path}: the log ends at record {last}, but record {reach} was acknowledged")]
    Cut {
        path: PathBuf,
        last: u64,
        reach: u64,
    },
    #[error("{path}: log version {found}")]
    OtherVersion { path: PathBuf, found: u32 },
}

/// The intact records of a segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Records {
    /// The sequence of the last one; one less than the segment's first if there is none.
    pub(crate) last: u64,
    /// The offsets of the end of the last record, and of its start.
    end: u64,
    last_start: Option<u64>,
}

/// One use of a slot file.
pub(crate) struct Segment {
    pub(crate) header: Header,
    pub(crate) path: PathBuf,
    file: File,
    /// The offset of the next record.
    end: u64,
    /// The file's length. The bytes beyond `end` are zeroes or an earlier segment's.
    file_bytes: u64,
    /// Whether the header has been written, though perhaps not synced.
    started: bool,
    /// The length that the inventory lists, and whether it lists the segment at all.
    listed_bytes: u64,
    listed: bool,
}

impl Segment {
    /// Makes a new segment in a slot. Writes nothing before the first record.
    pub(crate) fn new(path: PathBuf, file: File, header: Header) -> io::Result<Self> {
        let file_bytes = file.metadata()?.len();
        Ok(Self {
            header,
            path,
            file,
            end: HEADER_BYTES as u64,
            file_bytes,
            started: false,
            listed_bytes: file_bytes,
            listed: false,
        })
    }

    /// Makes a segment from a file found on disk. [`Segment::replay`] finds its end.
    pub(crate) fn found(path: PathBuf, file: File, header: Header) -> io::Result<Self> {
        let mut segment = Self::new(path, file, header)?;
        segment.started = true;
        // Everything that is found is listed when the store is opened.
        segment.listed = true;
        Ok(segment)
    }

    /// Returns the segment's listing with the slot's length, if it has records that the inventory does not cover.
    pub(crate) fn unlisted(&self) -> Option<(&Path, SlotListing)> {
        let covered = self.listed && self.file_bytes <= self.listed_bytes;
        (self.started && !covered).then(|| (self.path.as_path(), self.listing(self.file_bytes)))
    }

    /// Notes that the inventory covers it.
    pub(crate) fn set_listed(&mut self) {
        self.listed = true;
        self.listed_bytes = self.file_bytes;
    }

    /// Returns the slot's listing after [`Segment::retire`], if that shortens the slot.
    pub(crate) fn shortened(&self, slot_bytes: u64) -> Option<(&Path, SlotListing)> {
        let kept = slot_bytes.next_multiple_of(EXTEND_BYTES);
        (self.file_bytes > kept * 2).then(|| (self.path.as_path(), self.listing(kept)))
    }

    fn listing(&self, bytes: u64) -> SlotListing {
        SlotListing {
            segment: self.header.id,
            bytes,
        }
    }

    /// Returns the length of its file.
    pub(crate) fn file_bytes(&self) -> u64 {
        self.file_bytes
    }

    /// Returns the number of bytes in use.
    pub(crate) fn used_bytes(&self) -> u64 {
        self.end
    }

    /// Writes a sealed record behind the others. Not durable before [`Segment::sync`].
    pub(crate) fn append(&mut self, record: &[u8]) -> io::Result<()> {
        let end = self.end + record.len() as u64;
        if end > self.file_bytes {
            let to = end.next_multiple_of(EXTEND_BYTES);
            let zeroes = vec![0; EXTEND_BYTES as usize];
            while self.file_bytes < to {
                let piece = (to - self.file_bytes).min(EXTEND_BYTES);
                self.file
                    .write_all_at(&zeroes[..piece as usize], self.file_bytes)?;
                self.file_bytes += piece;
            }
        }
        if !self.started {
            self.file.write_all_at(&self.header.encode(), 0)?;
            self.started = true;
        }
        self.file.write_all_at(record, self.end)?;
        self.end = end;
        Ok(())
    }

    /// Makes the appended bytes durable. `fdatasync` suffices: it covers the data and, while the file grows, its length.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// Durably marks the segment as no longer needed, and returns its slot. A slot that is more than twice as long as
    /// `slot_bytes` (rounded up to a multiple of [`EXTEND_BYTES`]) is cut to that length.
    pub(crate) fn retire(mut self, slot_bytes: u64) -> io::Result<(PathBuf, File)> {
        self.header.retired = true;
        self.file.write_all_at(&self.header.encode(), 0)?;
        if let Some((_, slot)) = self.shortened(slot_bytes) {
            self.file.set_len(slot.bytes)?;
        }
        self.file.sync_data()?;
        Ok((self.path, self.file))
    }

    /// Hands every row to `on_row` in order and returns the sequence of the last record. `on_row` says whether there is such a
    /// table.
    ///
    /// In the newest segment the last record may be torn: it was never acknowledged and is left out. A valid record behind a
    /// damaged one proves damage to acknowledged data and is an error. So is an end before the record `reach`, which was
    /// acknowledged.
    pub(crate) fn replay(
        &mut self,
        is_newest: bool,
        reach: u64,
        on_row: &mut dyn FnMut(Row<'_>) -> bool,
    ) -> Result<u64, LogError> {
        let records = self.inspect(is_newest, on_row)?;
        if is_newest && records.last < reach {
            return Err(LogError::Cut {
                path: self.path.clone(),
                last: records.last,
                reach,
            });
        }
        self.end = records.end;
        if is_newest {
            self.rewrite_tail(records.last_start)
                .map_err(|source| LogError::Io {
                    path: self.path.clone(),
                    source,
                })?;
        }
        Ok(records.last)
    }

    /// Does the same as [`Segment::replay`], but changes nothing.
    pub(crate) fn inspect(
        &self,
        is_newest: bool,
        on_row: &mut dyn FnMut(Row<'_>) -> bool,
    ) -> Result<Records, LogError> {
        let io = |source| LogError::Io {
            path: self.path.clone(),
            source,
        };
        let mut reader = BufReader::with_capacity(256 << 10, &self.file);
        reader
            .seek(SeekFrom::Start(HEADER_BYTES as u64))
            .map_err(io)?;
        let mut expected = self.header.first_sequence;
        let mut record = Vec::new();
        let (mut end, mut last_start) = (HEADER_BYTES as u64, None);
        while let Some(prefix) =
            read_record(&mut reader, end, self.file_bytes, &mut record).map_err(io)?
        {
            if prefix.sequence != expected || !prefix.is_intact(&record, self.header.salt) {
                break;
            }
            for row in rows(&record[PREFIX_BYTES..PREFIX_BYTES + prefix.payload_bytes]) {
                if !row.is_some_and(&mut *on_row) {
                    return Err(LogError::Damaged {
                        path: self.path.clone(),
                        reason: format!("record {expected} holds rows of an unknown kind"),
                    });
                }
            }
            last_start = Some(end);
            end += prefix.record_bytes() as u64;
            expected += 1;
        }
        if is_newest {
            self.refuse_damage(end, expected)?;
        }
        Ok(Records {
            last: expected - 1,
            end,
            last_start,
        })
    }

    /// Writes the segment, as one that is needed and begins the log, to a file of another folder. Not yet durable.
    pub(crate) fn copy_to(&self, path: &Path, first_live: u64) -> io::Result<()> {
        let to = File::create_new(path)?;
        let header = Header {
            first_live,
            retired: false,
            ..self.header
        };
        to.write_all_at(&header.encode(), 0)?;
        let mut piece = vec![0; COPY_BYTES];
        let mut at = HEADER_BYTES as u64;
        while at < self.end {
            let left = (self.end - at).min(COPY_BYTES as u64);
            let piece = &mut piece[..left as usize];
            self.file.read_exact_at(piece, at)?;
            to.write_all_at(piece, at)?;
            at += piece.len() as u64;
        }
        Ok(())
    }

    /// Returns whether nothing was ever written to it.
    pub(crate) fn is_unused(&self) -> bool {
        !self.started
    }

    /// Checks that the segment begins with the record after the last one of the segment before it, in the file `before`.
    pub(crate) fn refuse_gap(&self, before: &Path, next_sequence: u64) -> Result<(), LogError> {
        let first = self.header.first_sequence;
        if first == next_sequence {
            return Ok(());
        }
        Err(LogError::Damaged {
            path: before.to_path_buf(),
            reason: format!(
                "ends before record {next_sequence}, but {} goes on with record {first}",
                self.path.display()
            ),
        })
    }

    /// Searches for an intact later record after the end, which would prove damage.
    fn refuse_damage(&self, end: u64, expected: u64) -> Result<(), LogError> {
        let io = |source| LogError::Io {
            path: self.path.clone(),
            source,
        };
        // Clipped at 0: a file that was cut after its header has nothing behind it.
        let mut rest = vec![0; (self.file_bytes.saturating_sub(end)) as usize];
        self.file.read_exact_at(&mut rest, end).map_err(io)?;
        let latest = expected + (rest.len() / PREFIX_BYTES) as u64;
        let later = (0..rest.len()).step_by(8).find(|at| {
            Prefix::read(&rest[*at..]).is_some_and(|prefix| {
                (expected + 1..=latest).contains(&prefix.sequence)
                    && prefix.is_intact(&rest[*at..], self.header.salt)
            })
        });
        match later {
            None => Ok(()),
            Some(at) => Err(LogError::Damaged {
                path: self.path.clone(),
                reason: format!(
                    "record {expected} at byte {} is damaged, but a later one at byte {} is intact",
                    end,
                    end + at as u64
                ),
            }),
        }
    }

    /// Writes the last record and the header once more and syncs. If their sync failed before a restart, the system may
    /// hold them in memory as clean; only a new write reaches the disk.
    fn rewrite_tail(&mut self, last_start: Option<u64>) -> io::Result<()> {
        if let Some(start) = last_start {
            let mut record = vec![0; (self.end - start) as usize];
            self.file.read_exact_at(&mut record, start)?;
            self.file.write_all_at(&record, start)?;
        }
        self.file.write_all_at(&self.header.encode(), 0)?;
        self.file.sync_data()
    }
}

/// Reads the record that starts at `at` into `record`. Returns `None` if no complete record starts there.
fn read_record(
    reader: &mut impl Read,
    at: u64,
    file_bytes: u64,
    record: &mut Vec<u8>,
) -> io::Result<Option<Prefix>> {
    // Clipped at 0 in a file that was cut after its header. Clipped at the word, which counts the bytes of every record.
    let left = usize::try_from(file_bytes.saturating_sub(at)).unwrap_or(usize::MAX);
    if left < PREFIX_BYTES {
        return Ok(None);
    }
    record.resize(PREFIX_BYTES, 0);
    reader.read_exact(record)?;
    let Some(prefix) = Prefix::read(record).filter(|prefix| prefix.record_bytes() <= left) else {
        return Ok(None);
    };
    record.resize(prefix.record_bytes(), 0);
    reader.read_exact(&mut record[PREFIX_BYTES..])?;
    Ok(Some(prefix))
}
