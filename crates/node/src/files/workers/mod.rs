//! Disk workers: each does everything about its share of the files, one thing after the other.

pub(super) mod job;
mod worker;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use primitives::Hash;
use store::Files;

use super::handle::TransferHandle;
use crate::core::messages::KernelHandle;
use crate::core::start_error::PANICKED;
use crate::ledger_store::LedgerStore;
use job::Job;
use worker::Worker;
pub(crate) use worker::remove_without_row;

/// Workers. They wait for the disk far longer than they compute: as many as one peer's files move at once.
const WORKERS: usize = 8;

/// The senders of the workers' jobs. The workers finish their jobs and end when it is dropped.
#[derive(Debug)]
pub(super) struct Workers {
    senders: Vec<Sender<Job>>,
    /// The worker of each file that is written, and how often it was opened and not ended: everything about it is done in order.
    writing: HashMap<Hash, (usize, u32)>,
}

impl Workers {
    pub(super) fn start(
        files: &Files,
        store: &LedgerStore,
        transfers: &Arc<TransferHandle>,
        kernel: &KernelHandle,
    ) -> std::io::Result<(Self, Vec<JoinHandle<()>>)> {
        let mut senders = Vec::with_capacity(WORKERS);
        let mut threads = Vec::with_capacity(WORKERS);
        for number in 0..WORKERS {
            let (sender, jobs) = channel();
            let worker = Worker::new(files.clone(), store.clone(), Arc::clone(transfers));
            let thread = std::thread::Builder::new().name(format!("files-{number}"));
            let beside = kernel.clone();
            let work = move || beside.guard(PANICKED, "files", || worker.run(&jobs));
            threads.push(thread.spawn(work)?);
            senders.push(sender);
        }
        let writing = HashMap::new();
        Ok((Self { senders, writing }, threads))
    }

    /// Gives a job to the worker of its file. A file to be written goes to the worker with the fewest such files, any other by
    /// its hash.
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
            // A worker that is gone has panicked, so the node stops.
            drop(sender.send(job));
        }
    }

    /// Notes that a worker has ended the writing that a [`Job::Open`] began.
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
        let idlest = workers.min_by_key(|at| files(*at).count());
        idlest.expect("there is a worker")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::Receiver;

    use super::*;

    fn open(number: u8) -> Job {
        Job::Open {
            hash: Hash::from_bytes([number; 32]),
        }
    }

    /// Returns the numbers of the files with a job, for each worker.
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
