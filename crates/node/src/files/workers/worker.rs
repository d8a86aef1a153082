//! The work on a file.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use kernel::files::file_row;
use primitives::{Coded, Hash};
use store::{FileReader, Files, FilesError, Part, PartId};
use transfer::{Event, Payload};

use super::job::Job;
use crate::files::errors::LOST;
use crate::files::handle::TransferHandle;
use crate::ledger_store::LedgerStore;

/// The nice value of worker threads, so that the node's other threads get the processor first.
const NICE: i32 = 10;
/// Files that a worker keeps open for reading.
const READERS_MAX: usize = 32;

/// One of the workers.
pub(super) struct Worker {
    files: Files,
    store: LedgerStore,
    transfers: Arc<TransferHandle>,
    parts: HashMap<Hash, Part>,
    /// The one used last is at the end.
    readers: VecDeque<FileReader>,
}

impl Worker {
    pub(super) fn new(files: Files, store: LedgerStore, transfers: Arc<TransferHandle>) -> Self {
        Self {
            files,
            store,
            transfers,
            parts: HashMap::new(),
            readers: VecDeque::new(),
        }
    }

    /// Works until all senders of jobs are gone.
    pub(super) fn run(mut self, jobs: &Receiver<Job>) {
        // On Linux this lowers the priority of this thread alone. Hashing a large file uses a processor for long, and payments
        // must not wait for it.
        if let Err(error) = rustix::process::nice(NICE) {
            tracing::debug!("files are written at the priority of everything else: {error}");
        }
        while let Ok(job) = jobs.recv() {
            let hash = *job.hash();
            let opens = matches!(job, Job::Open { .. });
            let before = u8::from(self.parts.contains_key(&hash)) + u8::from(opens);
            let event = self.perform(job);
            // The file is closed in every case: each time it is opened, a part is written to until there is none.
            for _ in u8::from(self.parts.contains_key(&hash))..before {
                self.transfers.ended(hash);
            }
            if let Some(event) = event {
                self.transfers.tell(event);
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
            self.transfers.claim(claim);
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
                self.transfers.claim(published.claim);
                Event::Published { hash, size }
            }
            Err(error) if error.is_senders_fault() => {
                tracing::warn!(code = error.code(), file = %hash, "the received part of a file was discarded: {error}");
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
        message.resize(head + length as usize, 0);
        let read = reader.read_at(offset, &mut message[head..])?;
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

/// Removes a file unless it has a row or is about to get one. Blocks.
pub(crate) fn remove_without_row(files: &Files, store: &LedgerStore, hash: &Hash) {
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
