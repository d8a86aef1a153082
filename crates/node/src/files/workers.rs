//! Disk workers: each does everything about its share of the files, one thing after the other.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use kernel::files::file_row;
use ledger::PartyId;
use primitives::{Coded, Hash};
use store::{Embedded, FileReader, Files, FilesError, Part, PartId};
use transfer::{Event, Payload};

use super::LOST;
use super::desk::Desk;

/// Workers. They wait for the disk far longer than they compute: as many as one peer's files move at once.
const WORKERS: usize = 8;
/// Files that a worker keeps open for reading.
const READERS_MAX: usize = 32;

/// Something to be done with a file. What waits is bounded by the machine's budgets.
#[derive(Debug)]
pub(super) enum Job {
    Open {
        hash: Hash,
    },
    Write {
        hash: Hash,
        bytes: Payload,
    },
    Close {
        hash: Hash,
        discard: bool,
    },
    Publish {
        hash: Hash,
        size: u64,
    },
    Read {
        peer: PartyId,
        hash: Hash,
        offset: u64,
        length: u32,
        head: Vec<u8>,
    },
    /// Take it from the disk, unless it has a row again.
    Drop {
        hash: Hash,
    },
}

impl Job {
    fn hash(&self) -> &Hash {
        match self {
            Job::Open { hash }
            | Job::Write { hash, .. }
            | Job::Close { hash, .. }
            | Job::Publish { hash, .. }
            | Job::Read { hash, .. }
            | Job::Drop { hash } => hash,
        }
    }
}

/// The workers' end that gives them work. When it is gone they end what they have, and go.
#[derive(Debug)]
pub(super) struct Workers {
    senders: Vec<Sender<Job>>,
    /// The worker of each file that is written, and how often it was opened and not ended: everything about it is done in order.
    writing: HashMap<Hash, (usize, u32)>,
}

impl Workers {
    pub(super) fn start(
        files: &Files,
        store: &Embedded,
        desk: &Arc<Desk>,
    ) -> std::io::Result<(Self, Vec<JoinHandle<()>>)> {
        let mut senders = Vec::with_capacity(WORKERS);
        let mut threads = Vec::with_capacity(WORKERS);
        for number in 0..WORKERS {
            let (sender, jobs) = channel();
            let worker = Worker {
                files: files.clone(),
                store: store.clone(),
                desk: Arc::clone(desk),
                parts: HashMap::new(),
                readers: VecDeque::new(),
            };
            let thread = std::thread::Builder::new().name(format!("files-{number}"));
            threads.push(thread.spawn(move || worker.run(&jobs))?);
            senders.push(sender);
        }
        let writing = HashMap::new();
        Ok((Self { senders, writing }, threads))
    }

    /// Gives a job to the worker of its file: one that is written goes to whoever has the fewest of them, others by their hash.
    pub(super) fn give(&mut self, job: Job) {
        let hash = *job.hash();
        if let Job::Open { .. } = job {
            let idlest = self.idlest();
            self.writing.entry(hash).or_insert((idlest, 0)).1 += 1;
        }
        let by_hash = usize::from(hash.as_bytes()[0]) % self.senders.len().max(1);
        let worker = self
            .writing
            .get(&hash)
            .map_or(by_hash, |(worker, _)| *worker);
        if let Some(sender) = self.senders.get(worker) {
            // A worker that is gone has panicked: transfers of its files wait for the next start.
            drop(sender.send(job));
        }
    }

    /// A worker has ended what an [`Job::Open`] began.
    pub(super) fn ended(&mut self, hash: &Hash) {
        if let Some((_, opened)) = self.writing.get_mut(hash) {
            *opened -= 1;
            if *opened == 0 {
                self.writing.remove(hash);
            }
        }
    }

    fn idlest(&self) -> usize {
        let files = |number| self.writing.values().filter(move |(at, _)| *at == number);
        let workers = 0..self.senders.len();
        workers.min_by_key(|at| files(*at).count()).unwrap_or(0)
    }
}

struct Worker {
    files: Files,
    store: Embedded,
    desk: Arc<Desk>,
    parts: HashMap<Hash, Part>,
    /// The one used last is at the end.
    readers: VecDeque<FileReader>,
}

impl Worker {
    fn run(mut self, jobs: &Receiver<Job>) {
        while let Ok(job) = jobs.recv() {
            let hash = *job.hash();
            let opens = matches!(job, Job::Open { .. });
            let before = u8::from(self.parts.contains_key(&hash)) + u8::from(opens);
            let event = self.perform(job);
            // Whatever became of it: each time it is opened there is a part that is written to, until there is none.
            for _ in u8::from(self.parts.contains_key(&hash))..before {
                self.desk.ended(hash);
            }
            if let Some(event) = event {
                self.desk.tell(event);
            }
        }
    }

    fn perform(&mut self, job: Job) -> Option<Event> {
        Some(match job {
            Job::Open { hash } => self.open(hash).unwrap_or_else(|error| {
                let code = error.code();
                tracing::warn!(code, file = %hash, hint = error.hint(), "a file cannot be fetched: {error}");
                Event::OpenFailed { hash, code }
            }),
            Job::Write { hash, bytes } => self.write(hash, &bytes),
            Job::Close { hash, discard } => {
                self.close(hash, discard);
                return None;
            }
            Job::Publish { hash, size } => self.publish(hash, size),
            Job::Drop { hash } => {
                self.readers.retain(|reader| reader.hash() != hash);
                remove_without_row(&self.files, &self.store, &hash);
                return None;
            }
            Job::Read {
                peer,
                hash,
                offset,
                length,
                head,
            } => {
                let read = self.read(&hash, (offset, length), head);
                let length = length.into();
                match read {
                    Ok(message) => Event::Read {
                        peer,
                        hash,
                        length,
                        message,
                    },
                    Err(error) => {
                        self.readers.retain(|reader| reader.hash() != hash);
                        say_unreadable(&hash, error.as_ref());
                        Event::ReadFailed { peer, hash, length }
                    }
                }
            }
        })
    }

    fn open(&mut self, hash: Hash) -> Result<Event, FilesError> {
        // Claimed before it is said to be here, so that it stays.
        if let Some(claim) = self.files.claim(&hash)?
            && let Some(size) = self.files.size(&hash)?
        {
            self.desk.claim(claim);
            return Ok(Event::Present { hash, size });
        }
        self.parts.remove(&hash);
        let part = self.files.part(PartId::Fetch(hash))?;
        let have = part.len();
        self.parts.insert(hash, part);
        Ok(Event::Opened { hash, have })
    }

    fn write(&mut self, hash: Hash, payload: &Payload) -> Event {
        let bytes = payload.len() as u64;
        let Some(part) = self.parts.get_mut(&hash) else {
            // An earlier write failed, and said so.
            let code = "files.failed";
            return Event::WriteFailed { hash, bytes, code };
        };
        match part.write(payload) {
            Ok(()) => Event::Wrote {
                hash,
                upto: part.len(),
                bytes,
            },
            Err(error) => {
                self.parts.remove(&hash);
                let code = error.code();
                tracing::warn!(code, file = %hash, hint = error.hint(), "a file cannot be written: {error}");
                Event::WriteFailed { hash, bytes, code }
            }
        }
    }

    fn close(&mut self, hash: Hash, discard: bool) {
        let part = self.parts.remove(&hash);
        if let Some(part) = part.filter(|_| discard)
            && let Err(error) = part.discard()
        {
            tracing::warn!(code = error.code(), file = %hash, "a part stays: {error}");
        }
    }

    fn publish(&mut self, hash: Hash, size: u64) -> Event {
        let Some(part) = self.parts.remove(&hash) else {
            let code = "files.failed";
            return Event::PublishFailed { hash, code };
        };
        match part.finish(Some(hash), Some(size)) {
            Ok(published) => {
                self.desk.claim(published.claim);
                Event::Published { hash, size }
            }
            Err(error) if error.is_senders_fault() => {
                tracing::warn!(code = error.code(), file = %hash, "what came of a file was thrown away: {error}");
                Event::Mismatched { hash }
            }
            Err(error) => {
                let code = error.code();
                tracing::warn!(code, file = %hash, hint = error.hint(), "a file cannot be published: {error}");
                Event::PublishFailed { hash, code }
            }
        }
    }

    /// Appends a part of the file to the head. An error without a cause: the file is not here, or shorter than it was.
    fn read(
        &mut self,
        hash: &Hash,
        (offset, length): (u64, u32),
        mut message: Vec<u8>,
    ) -> Result<Vec<u8>, Option<FilesError>> {
        let reader = self.reader(hash)?.ok_or(None)?;
        let head = message.len();
        message.resize(head.saturating_add(length as usize), 0);
        let into = message.get_mut(head..).unwrap_or_default();
        let read = reader.read_at(offset, into)?;
        if read < length as usize {
            return Err(None);
        }
        Ok(message)
    }

    fn reader(&mut self, hash: &Hash) -> Result<Option<FileReader>, FilesError> {
        let known = self
            .readers
            .iter()
            .position(|reader| reader.hash() == *hash);
        let reader = match known.and_then(|at| self.readers.remove(at)) {
            Some(reader) => reader,
            None => match self.files.reader(hash)? {
                Some(reader) => reader,
                None => return Ok(None),
            },
        };
        if self.readers.len() >= READERS_MAX {
            self.readers.pop_front();
        }
        self.readers.push_back(reader.clone());
        Ok(Some(reader))
    }
}

/// Removes a file unless it has a row, or somebody is about to give it one. Blocks.
pub(crate) fn remove_without_row(files: &Files, store: &Embedded, hash: &Hash) {
    // A row that cannot be read is no reason to lose a file.
    let has_row = || file_row(store, hash).map_or(true, |row| row.is_some());
    if let Err(error) = files.remove_unless(hash, has_row) {
        let (code, hint) = (error.code(), error.hint());
        tracing::warn!(code, hint, file = %hash, "a file without a row stays for now: {error}");
    }
}

fn say_unreadable(hash: &Hash, error: Option<&FilesError>) {
    match error {
        Some(error) => {
            tracing::warn!(code = error.code(), file = %hash, hint = error.hint(), "a file cannot be read: {error}");
        }
        None => {
            tracing::warn!(code = LOST, file = %hash, "a file is not here, or shorter than it was")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(number: u8) -> Job {
        Job::Open {
            hash: Hash::from_bytes([number; 32]),
        }
    }

    /// The numbers of the files of which each worker has jobs.
    fn given(ends: &[Receiver<Job>]) -> Vec<Vec<u8>> {
        let number = |job: Job| job.hash().as_bytes()[0];
        ends.iter()
            .map(|end| end.try_iter().map(number).collect())
            .collect()
    }

    #[test]
    fn files_that_are_written_are_spread_and_each_stays_where_it_is() {
        let (senders, ends): (Vec<_>, Vec<_>) = (0..3).map(|_| channel()).unzip();
        let mut workers = Workers {
            senders,
            writing: HashMap::new(),
        };
        // All of one remainder: their hashes alone would send them to one worker.
        for number in [0, 3, 6, 9] {
            workers.give(open(number));
        }
        assert_eq!(given(&ends), [vec![0, 9], vec![3], vec![6]]);
        let hash = Hash::from_bytes([3; 32]);
        // Closed and opened again before the worker came to it: the same one, or two would write to one part.
        workers.give(Job::Close {
            hash,
            discard: false,
        });
        workers.give(open(3));
        workers.ended(&hash);
        workers.give(Job::Publish { hash, size: 1 });
        assert_eq!(given(&ends), [vec![], vec![3, 3, 3], vec![]]);
        workers.ended(&hash);
        workers.ended(&hash);
        workers.give(open(12));
        assert_eq!(given(&ends), [vec![], vec![12], vec![]]);
    }
}
