//! The log as a whole: the active segment, those that still await their flush, and the free slots.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::header::{HEADER_BYTES, Header, Sector};
use super::record::{Record, Row};
use super::segment::{LogError, Segment};
use crate::custody::SlotListing;
use crate::directory::sync_directory;

/// At most three are in use at a time. An interrupted flush may leave a few more.
const SLOTS_MAX: usize = 1000;

/// The write-ahead log of one store.
pub(crate) struct Log {
    directory: PathBuf,
    active: Segment,
    sealed: Vec<Segment>,
    free: Vec<(PathBuf, File)>,
    next_sequence: u64,
    first_live: u64,
}

/// The parts of a log that a check has read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LogRead {
    /// Segments.
    pub(crate) files: u64,
    /// Bytes of their files.
    pub(crate) bytes: u64,
    /// Intact records.
    pub(crate) records: u64,
    /// The sequence of the last record that was ever appended; 0 for a new log.
    pub(crate) last: u64,
}

impl Log {
    /// Opens the log and hands every row that may not be in a table yet to `on_row`, in the order of the commits.
    /// It must hold every record up to `reach`; otherwise nothing is changed.
    pub(crate) fn open(
        directory: &Path,
        reach: u64,
        on_row: &mut dyn FnMut(Row<'_>) -> bool,
    ) -> Result<Self, LogError> {
        let io = |source| LogError::Io {
            path: directory.to_path_buf(),
            source,
        };
        let found = find_slots(directory, true)?;
        let Split {
            mut live,
            unused,
            first_live,
        } = split(directory, found)?;
        let mut next_sequence = live
            .first()
            .map_or(1, |segment| segment.header.first_sequence);
        let count = live.len();
        if count == 0 && reach > 0 {
            return Err(LogError::Cut {
                path: directory.to_path_buf(),
                last: 0,
                reach,
            });
        }
        let mut before = PathBuf::new();
        for (i, segment) in live.iter_mut().enumerate() {
            segment.refuse_gap(&before, next_sequence)?;
            next_sequence = segment.replay(i + 1 == count, reach, on_row)? + 1;
            // A killed process leaves writes in the system's memory: they must be durable before anyone sees them.
            segment.sync().map_err(io)?;
            before.clone_from(&segment.path);
        }
        let mut free = Vec::new();
        for slot in unused {
            free.push(slot.clear()?);
        }
        let log = Self {
            directory: directory.to_path_buf(),
            active: match live.pop() {
                Some(segment) => segment,
                None => first_segment(directory, &mut free).map_err(io)?,
            },
            sealed: live,
            free,
            next_sequence,
            first_live,
        };
        sync_directory(directory).map_err(io)?;
        Ok(log)
    }

    /// Reads and checks everything that [`Log::open`] does, but changes nothing. Counts what it has read in `read`, also if it fails.
    pub(crate) fn inspect(
        directory: &Path,
        reach: u64,
        on_row: &mut dyn FnMut(Row<'_>) -> bool,
        read: &mut LogRead,
    ) -> Result<(), LogError> {
        let live = split(directory, find_slots(directory, false)?)?.live;
        let first = live.first();
        let first = first.map_or(1, |segment| segment.header.first_sequence);
        let mut next_sequence = first;
        let mut before = Path::new("");
        for (i, segment) in live.iter().enumerate() {
            segment.refuse_gap(before, next_sequence)?;
            read.files += 1;
            read.bytes += segment.file_bytes();
            next_sequence = segment.inspect(i + 1 == live.len(), on_row)?.last + 1;
            read.records = next_sequence - first;
            before = &segment.path;
        }
        read.last = next_sequence - 1;
        if read.last < reach {
            let path = live.last().map_or(directory, |segment| &segment.path);
            let path = path.to_path_buf();
            let last = read.last;
            return Err(LogError::Cut { path, last, reach });
        }
        Ok(())
    }

    /// Writes all that is not in tables to the log of a copy, whose folder is empty. Not yet durable.
    ///
    /// # Correctness
    /// The copy ends with an additional segment without records, so that the last segment of the original is not the
    /// newest. Missing bytes at its end then count as damage, not as a torn write.
    pub(crate) fn copy_to(&self, directory: &Path) -> io::Result<()> {
        if self.active.is_unused() {
            return Ok(());
        }
        let segments = || self.sealed.iter().chain([&self.active]);
        let first_live = segments()
            .next()
            .map_or(self.active.header.id, |segment| segment.header.id);
        let mut number = 0;
        for segment in segments() {
            segment.copy_to(&slot_path(directory, number), first_live)?;
            number += 1;
        }
        let newest = header(self.active.header.id + 1, first_live, self.next_sequence);
        std::fs::write(slot_path(directory, number), newest.encode())
    }

    /// Returns whether nothing has ever been written.
    pub(crate) fn is_new(&self) -> bool {
        self.next_sequence == 1
    }

    /// Returns the number of bytes in the active segment.
    pub(crate) fn active_bytes(&self) -> u64 {
        self.active.used_bytes()
    }

    /// Appends a record to the active segment. It is not durable before [`Log::sync`]. A record that is too long is refused before anything
    /// is written.
    pub(crate) fn append(&mut self, record: &mut Record) -> io::Result<()> {
        let bytes = record
            .seal(self.next_sequence, self.active.header.salt)
            .map_err(io::Error::other)?;
        self.active.append(bytes)?;
        self.next_sequence += 1;
        Ok(())
    }

    /// Makes the appended bytes durable.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.active.sync()
    }

    /// Returns the sequence of the last record that was appended.
    pub(crate) fn last_sequence(&self) -> u64 {
        self.next_sequence - 1
    }

    /// Returns the active segment's slot and its listing, if the inventory does not cover its present state.
    pub(crate) fn unlisted(&self) -> Option<(String, SlotListing)> {
        let (path, slot) = self.active.unlisted()?;
        Some((slot_name(path), slot))
    }

    /// Notes that the inventory covers the active segment.
    pub(crate) fn set_listed(&mut self) {
        self.active.set_listed();
    }

    /// Seals the active segment; the next record starts a new one.
    pub(crate) fn rotate(&mut self) -> io::Result<()> {
        let (path, file) = match self.free.pop() {
            Some(slot) => slot,
            None => create_slot(&self.directory)?,
        };
        let header = header(
            self.active.header.id + 1,
            self.first_live,
            self.next_sequence,
        );
        let next = Segment::new(path, file, header)?;
        self.sealed.push(std::mem::replace(&mut self.active, next));
        Ok(())
    }

    /// Removes and returns the sealed segments. The caller retires them once everything written before the last rotation is in
    /// tables.
    pub(crate) fn take_sealed(&mut self) -> Vec<Segment> {
        std::mem::take(&mut self.sealed)
    }

    /// Adds retired slots to the free ones. Every segment up to `last_id` is retired.
    pub(crate) fn reuse(&mut self, slots: Vec<(PathBuf, File)>, last_id: u64) {
        self.free.extend(slots);
        self.first_live = self.first_live.max(last_id + 1);
    }
}

struct Found {
    path: PathBuf,
    file: File,
    header: Option<Header>,
}

impl Found {
    /// Makes the slot free to use, durably marked so.
    fn clear(self) -> Result<(PathBuf, File), LogError> {
        let Some(header) = self.header else {
            return Ok((self.path, self.file));
        };
        let path = self.path.clone();
        Segment::found(self.path, self.file, header)
            .and_then(|obsolete| obsolete.retire(u64::MAX / 4))
            .map_err(|source| LogError::Io { path, source })
    }
}

fn find_slots(directory: &Path, write: bool) -> Result<Vec<Found>, LogError> {
    let io = |path: &Path, source| LogError::Io {
        path: path.to_path_buf(),
        source,
    };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(|e| io(directory, e))? {
        let path = entry.map_err(|e| io(directory, e))?.path();
        if path.extension().is_none_or(|extension| extension != "log") {
            continue;
        }
        let file = open_slot(&path, write).map_err(|e| io(&path, e))?;
        let sector = read_sector(&file).map_err(|e| io(&path, e))?;
        let header = match Header::decode(&sector) {
            Sector::Valid(header) => Some(header),
            Sector::OtherVersion(found) => return Err(LogError::OtherVersion { path, found }),
            Sector::Unusable if sector == [0; HEADER_BYTES] => None,
            Sector::Unusable => {
                return Err(LogError::Damaged {
                    path,
                    reason: "its header is damaged".into(),
                });
            }
        };
        found.push(Found { path, file, header });
    }
    found.sort_by_key(|slot| slot.header.map_or(0, |header| header.id));
    Ok(found)
}

/// The content of the slots.
struct Split {
    /// The live segments, in order.
    live: Vec<Segment>,
    unused: Vec<Found>,
    /// The id of the first live segment.
    first_live: u64,
}

fn split(directory: &Path, found: Vec<Found>) -> Result<Split, LogError> {
    let damaged = |reason: String| LogError::Damaged {
        path: directory.to_path_buf(),
        reason,
    };
    let headers: Vec<Header> = found.iter().filter_map(|slot| slot.header).collect();
    let newest = headers.last().copied();
    if newest.is_some_and(|newest| newest.retired) {
        return Err(damaged("the newest segment is missing".into()));
    }
    if let Some(newest) = newest {
        for id in newest.first_live..newest.id {
            if !headers.iter().any(|header| header.id == id) {
                return Err(damaged(format!("segment {id} is missing")));
            }
        }
    }
    // Segments are retired from the oldest on, so those before a retired one are obsolete, marked or not.
    let last_retired = headers
        .iter()
        .filter(|header| header.retired)
        .map(|header| header.id)
        .max();
    let first_live = newest.map_or(1, |newest| {
        // Without a retired segment, all are live. The first has the id 1.
        newest.first_live.max(last_retired.unwrap_or(0) + 1)
    });
    let (mut live, mut unused) = (Vec::new(), Vec::new());
    for slot in found {
        match slot.header {
            Some(header) if header.id >= first_live => {
                let path = slot.path.clone();
                let segment = Segment::found(slot.path, slot.file, header)
                    .map_err(|source| LogError::Io { path, source })?;
                live.push(segment);
            }
            _ => unused.push(slot),
        }
    }
    Ok(Split {
        live,
        unused,
        first_live,
    })
}

fn first_segment(directory: &Path, free: &mut Vec<(PathBuf, File)>) -> io::Result<Segment> {
    let (path, file) = match free.pop() {
        Some(slot) => slot,
        None => create_slot(directory)?,
    };
    Segment::new(path, file, header(1, 1, 1))
}

fn header(id: u64, first_live: u64, first_sequence: u64) -> Header {
    Header {
        id,
        first_live,
        first_sequence,
        // The salt is not secret. It only has to differ from that of every other segment, and must not be predictable from outside.
        salt: RandomState::new().hash_one(id),
        retired: false,
    }
}

/// Reads the first sector of a slot; zeroes where the file is shorter.
fn read_sector(file: &File) -> io::Result<[u8; HEADER_BYTES]> {
    let mut sector = [0; HEADER_BYTES];
    if file.metadata()?.len() >= HEADER_BYTES as u64 {
        file.read_exact_at(&mut sector, 0)?;
    }
    Ok(sector)
}

/// Reads the content of a slot's first sector.
pub(crate) fn first_sector(path: &Path) -> io::Result<Sector> {
    Ok(Header::decode(&read_sector(&open_slot(path, false)?)?))
}

/// Lists all slots in the log's folder for the inventory.
pub(crate) fn list_slots(directory: &Path) -> Result<BTreeMap<String, SlotListing>, LogError> {
    let mut listed = BTreeMap::new();
    for slot in find_slots(directory, false)? {
        let bytes = slot.file.metadata().map_err(|source| LogError::Io {
            path: slot.path.clone(),
            source,
        })?;
        let listing = SlotListing {
            segment: slot.header.map_or(0, |header| header.id),
            bytes: bytes.len(),
        };
        listed.insert(slot_name(&slot.path), listing);
    }
    Ok(listed)
}

/// Returns the name of a slot in the inventory.
pub(crate) fn slot_name(path: &Path) -> String {
    let name = path.file_name().expect("a slot's path has a file name");
    name.to_string_lossy().into_owned()
}

fn open_slot(path: &Path, write: bool) -> io::Result<File> {
    OpenOptions::new().read(true).write(write).open(path)
}

fn slot_path(directory: &Path, number: usize) -> PathBuf {
    directory.join(format!("{number}.log"))
}

/// Creates the first slot that is not there yet.
fn create_slot(directory: &Path) -> io::Result<(PathBuf, File)> {
    for number in 0..SLOTS_MAX {
        let path = slot_path(directory, number);
        match OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&path)
        {
            Ok(file) => {
                sync_directory(directory)?;
                return Ok((path, file));
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other(format!("more than {SLOTS_MAX} log slots")))
}
