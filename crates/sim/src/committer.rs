//! The queue before the disk: what came while the last sync ran is synced together, first come first served.

use std::collections::VecDeque;

use kernel::Action;
use kernel::port::WriteBatch;

use crate::chance::Chance;
use crate::disk::Disk;

/// A batch on its way to the disk.
pub struct Pending {
    pub number: u64,
    pub batch: WriteBatch,
    /// What waits for it.
    pub then: Vec<Action>,
}

/// See the module.
#[derive(Default)]
pub struct Committer {
    queue: VecDeque<Pending>,
    /// How many of the first are being synced.
    syncing: usize,
}

impl Committer {
    pub fn submit(&mut self, pending: Pending) {
        self.queue.push_back(pending);
    }

    /// Starts a sync of everything that waits; false if one runs or nothing waits.
    pub fn start(&mut self) -> bool {
        if self.syncing > 0 || self.queue.is_empty() {
            return false;
        }
        self.syncing = self.queue.len();
        true
    }

    /// The sync is done: these batches are durable now.
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

    /// The power goes: of what was being synced some first batches may have made it to the disk, none in part. Returns how
    /// many did. `tear` is the planted bug that leaves half a batch.
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
