//! The queue in front of the disk. Batches that arrive during a sync are synced together, in their order of arrival.

use std::collections::VecDeque;

use kernel::Action;
use kernel::port::WriteBatch;

use crate::chance::Chance;
use crate::disk::Disk;

/// A batch that waits for a sync.
pub struct Pending {
    pub number: u64,
    pub batch: WriteBatch,
    /// Actions that wait until the batch is durable.
    pub then: Vec<Action>,
}

/// The queue of batches.
#[derive(Default)]
pub struct Committer {
    queue: VecDeque<Pending>,
    /// Number of batches at the front that are being synced.
    syncing: usize,
}

impl Committer {
    pub fn submit(&mut self, pending: Pending) {
        self.queue.push_back(pending);
    }

    /// Starts a sync of all waiting batches. Returns false if a sync runs or no batch waits.
    pub fn start(&mut self) -> bool {
        if self.syncing > 0 || self.queue.is_empty() {
            return false;
        }
        self.syncing = self.queue.len();
        true
    }

    /// Ends the sync, and returns the batches that are now durable.
    pub fn synced(&mut self, disk: &mut Disk) -> Vec<Pending> {
        let done: Vec<Pending> = self
            .queue
            .drain(..self.syncing.min(self.queue.len()))
            .collect();
        self.syncing = 0;
        for pending in &done {
            disk.sync(&pending.batch);
        }
        done
    }

    pub fn len(&self) -> usize {
        self.queue.len()
    }

    pub fn is_idle(&self) -> bool {
        self.queue.is_empty()
    }

    /// Cuts the power. A random number of the first batches of the running sync are durable, and none is written in part. Returns
    /// their number. `tear` is the planted bug that leaves half a batch.
    pub fn crash(&mut self, disk: &mut Disk, chance: &mut Chance, tear: bool) -> usize {
        let survivors = chance.below(self.syncing + 1);
        for (at, pending) in self.queue.drain(..).enumerate() {
            if at < survivors {
                disk.sync(&pending.batch);
            } else if at == survivors && tear {
                let mut half = pending.batch;
                half.writes.truncate(half.writes.len() / 2);
                disk.sync(&half);
            }
        }
        self.syncing = 0;
        survivors
    }
}
