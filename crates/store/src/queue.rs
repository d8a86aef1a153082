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
    /// Bytes of the batch in a record of the log. The submitter has checked that they fit one.
    pub(crate) record_bytes: usize,
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
        self.bytes += submission.bytes;
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
    /// each lane is always taken, unless both do not fit a record of `record_bytes_max`: then the one that was submitted first is
    /// taken. So the group is empty only if nothing waits, and neither lane starves.
    pub(crate) fn take(&mut self, cap_bytes: usize, record_bytes_max: usize) -> Vec<Submission<T>> {
        let bulk_cap = if self.normal.is_empty() {
            cap_bytes
        } else {
            cap_bytes / 2
        };
        let bulk_room = record_bytes_max - self.reserved_bytes(record_bytes_max);
        let mut bulk = Group::default();
        bulk.take(&mut self.bulk, bulk_cap, bulk_room);
        let mut group = Group::default();
        group.take(
            &mut self.normal,
            // Clipped at 0: the first bulk submission may exceed the cap alone.
            cap_bytes.saturating_sub(bulk.bytes),
            record_bytes_max - bulk.record_bytes,
        );
        self.bytes -= bulk.bytes + group.bytes;
        group.submissions.extend(bulk.submissions);
        group.submissions
    }

    /// Returns the bytes of the next record that bulk submissions must leave to the first normal one. It must wait for the next record
    /// if it does not fit and a bulk one was submitted before it.
    fn reserved_bytes(&self, record_bytes_max: usize) -> usize {
        let Some(normal) = self.normal.front() else {
            return 0;
        };
        let waits = self.bulk.front().is_some_and(|bulk| {
            let both = normal.record_bytes + bulk.record_bytes;
            both > record_bytes_max && bulk.submitted < normal.submitted
        });
        if waits {
            0
        } else {
            normal.record_bytes.min(record_bytes_max)
        }
    }

    /// Removes and returns all submissions, so that they can be failed.
    pub(crate) fn drain(&mut self) -> Vec<Submission<T>> {
        self.bytes = 0;
        self.normal.drain(..).chain(self.bulk.drain(..)).collect()
    }
}

/// Submissions of one lane for the next commit.
struct Group<T> {
    submissions: Vec<Submission<T>>,
    bytes: usize,
    record_bytes: usize,
}

impl<T> Default for Group<T> {
    fn default() -> Self {
        Self {
            submissions: Vec::new(),
            bytes: 0,
            record_bytes: 0,
        }
    }
}

impl<T> Group<T> {
    /// Moves submissions of the lane while they fit the record. Beyond the first one they must also fit the cap, so that one larger than the
    /// cap is not stuck.
    fn take(&mut self, lane: &mut VecDeque<Submission<T>>, cap_bytes: usize, record_room: usize) {
        while let Some(next) = lane.front() {
            let bytes = self.bytes + next.bytes;
            let record_bytes = self.record_bytes + next.record_bytes;
            if record_bytes > record_room || (self.bytes > 0 && bytes > cap_bytes) {
                break;
            }
            self.bytes = bytes;
            self.record_bytes = record_bytes;
            self.submissions.extend(lane.pop_front());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    use kernel::port::Table;

    fn submission(number: u64, bytes: usize) -> Submission<Table> {
        let mut batch = WriteBatch::default();
        if bytes > 0 {
            batch.put(Table::Meta, vec![0; bytes], Vec::new());
        }
        Submission {
            number,
            bytes: batch.size_bytes(),
            record_bytes: batch.size_bytes(),
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
            let numbers: Vec<u64> = queue
                .take(100, usize::MAX)
                .iter()
                .map(|s| s.number)
                .collect();
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
    /// Takes all groups of submissions, which have a lane each, from a queue with a cap of 100 bytes and records of at most 150 bytes.
    fn check_records(submitted: &[(u64, usize, bool)], expect: &[&[u64]]) {
        let mut queue = Queue::default();
        let first = Instant::now();
        for (position, (number, bytes, bulk)) in (0..).zip(submitted) {
            let mut submission = submission(*number, *bytes);
            submission.submitted = first + Duration::from_micros(position);
            queue.push(submission, *bulk);
        }
        for group in expect {
            let taken = queue.take(100, 150);
            let bytes: usize = taken.iter().map(|taken| taken.record_bytes).sum();
            assert!(bytes <= 150, "a record of {bytes} bytes");
            let numbers: Vec<u64> = taken.iter().map(|taken| taken.number).collect();
            assert_eq!(&numbers, group);
        }
        assert!(queue.is_empty());
        assert_eq!(queue.bytes(), 0);
    }

    #[test]
    fn group_never_exceeds_one_record() {
        check_records(&[(1, 100, false), (2, 50, true)], &[&[1, 2]]);
        check_records(
            &[(1, 100, false), (2, 100, true), (3, 100, false)],
            &[&[1], &[2], &[3]],
        );
        check_records(
            &[(1, 100, true), (2, 100, false), (3, 0, false)],
            &[&[1], &[2, 3]],
        );
        check_records(
            &[(1, 150, true), (2, 150, false), (3, 150, true)],
            &[&[1], &[2], &[3]],
        );
    }
}
