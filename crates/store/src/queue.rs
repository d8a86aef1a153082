//! The submissions that wait for the next commit: two first-come-first-served lanes and the rule that shares a commit
//! between them.
//!
//! Pure: no thread, no disk.

use std::collections::VecDeque;
use std::time::Instant;

use primitives::storage::{StoreFailure, WriteBatch};

/// Called once, on the commit thread, when the submission is durable or has failed.
pub(crate) type OnDurable = Box<dyn FnOnce(u64, Result<(), StoreFailure>) + Send>;

/// One batch that waits.
pub(crate) struct Submission<T> {
    pub(crate) number: u64,
    pub(crate) batch: WriteBatch<T>,
    pub(crate) bytes: usize,
    pub(crate) submitted: Instant,
    pub(crate) on_durable: OnDurable,
}

/// The two lanes.
pub(crate) struct Queue<T> {
    normal: VecDeque<Submission<T>>,
    bulk: VecDeque<Submission<T>>,
    bytes: usize,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self {
            normal: VecDeque::new(),
            bulk: VecDeque::new(),
            bytes: 0,
        }
    }
}

impl<T> Queue<T> {
    pub(crate) fn push(&mut self, submission: Submission<T>, bulk: bool) {
        self.bytes = self.bytes.saturating_add(submission.bytes);
        if bulk {
            self.bulk.push_back(submission);
        } else {
            self.normal.push_back(submission);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.normal.is_empty() && self.bulk.is_empty()
    }

    /// Returns the bytes of the waiting submissions.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes the next group. Each lane is taken in the order of arrival. If normal submissions wait, bulk ones get up to half
    /// of the cap, otherwise all of it. Normal ones get the rest of the cap and go first in the group. The first submission of
    /// each lane is always taken, so the group is empty only if nothing waits.
    pub(crate) fn take(&mut self, cap_bytes: usize) -> Vec<Submission<T>> {
        let normal_waits = !self.normal.is_empty();
        let mut group = Vec::new();
        let bulk_cap = if normal_waits {
            cap_bytes / 2
        } else {
            cap_bytes
        };
        let bulk_bytes = take_up_to(&mut self.bulk, bulk_cap, &mut group);
        let bulk = std::mem::take(&mut group);
        let normal_bytes = take_up_to(
            &mut self.normal,
            cap_bytes.saturating_sub(bulk_bytes),
            &mut group,
        );
        self.bytes = self.bytes.saturating_sub(bulk_bytes + normal_bytes);
        group.extend(bulk);
        group
    }

    /// Takes everything, to fail it.
    pub(crate) fn drain(&mut self) -> Vec<Submission<T>> {
        self.bytes = 0;
        self.normal.drain(..).chain(self.bulk.drain(..)).collect()
    }
}

/// Moves submissions while they fit; the first one always does, so that one larger than the cap is not stuck.
fn take_up_to<T>(
    lane: &mut VecDeque<Submission<T>>,
    cap_bytes: usize,
    group: &mut Vec<Submission<T>>,
) -> usize {
    let mut taken = 0usize;
    while let Some(next) = lane.front() {
        if taken > 0 && taken.saturating_add(next.bytes) > cap_bytes {
            break;
        }
        taken = taken.saturating_add(next.bytes);
        group.extend(lane.pop_front());
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::port::Table;

    fn submission(number: u64, bytes: usize) -> Submission<Table> {
        let mut batch = WriteBatch::default();
        if bytes > 0 {
            batch.put(Table::Meta, vec![0; bytes], Vec::new());
        }
        Submission {
            number,
            bytes: batch.size_bytes(),
            batch,
            submitted: Instant::now(),
            on_durable: Box::new(|_, _| {}),
        }
    }

    /// Normal and bulk submissions as (number, bytes); the groups expected from a cap of 100 bytes.
    fn check(normal: &[(u64, usize)], bulk: &[(u64, usize)], expect: &[&[u64]]) {
        let mut queue = Queue::default();
        for (number, bytes) in normal {
            queue.push(submission(*number, *bytes), false);
        }
        for (number, bytes) in bulk {
            queue.push(submission(*number, *bytes), true);
        }
        for group in expect {
            let numbers: Vec<u64> = queue.take(100).iter().map(|s| s.number).collect();
            assert_eq!(&numbers, group);
        }
        assert!(queue.is_empty());
        assert_eq!(queue.bytes(), 0);
    }

    #[test]
    fn groups() {
        check(&[(1, 40), (2, 60), (3, 1)], &[], &[&[1, 2], &[3]]);
        check(&[(1, 400), (2, 60)], &[], &[&[1], &[2]]);
        check(&[(1, 0), (2, 0), (3, 100)], &[], &[&[1, 2, 3]]);
        check(&[], &[(1, 60), (2, 40), (3, 10)], &[&[1, 2], &[3]]);
        check(
            &[(1, 50), (2, 50)],
            &[(3, 25), (4, 25), (5, 25)],
            &[&[1, 3, 4], &[2, 5]],
        );
        check(&[(1, 50)], &[(3, 400), (4, 25)], &[&[1, 3], &[4]]);
    }
}
