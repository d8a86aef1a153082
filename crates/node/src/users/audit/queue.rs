//! The lines that wait to be written. Starts and refusals cannot take the place of lines about users and logins.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::line::AuditLine;
use super::refusals::Refusals;

/// Lines that wait to be written, except for those about users and logins.
const QUEUE_MAX: usize = 16_384;
/// Lines about users and logins that wait to be written.
const KEPT_QUEUE_MAX: usize = 4_096;
/// Lines written before they are handed to the system at the latest.
const BATCH_MAX: usize = 1_024;
/// Longest time without a look at the file.
const LOOK_PATIENCE: Duration = Duration::from_secs(1);

/// The end of a line's wait: it is durable, or why not.
pub(super) type Durable = std::io::Result<()>;

/// A line that waits to be written.
#[derive(Debug)]
pub(super) struct QueuedLine {
    pub(super) line: AuditLine,
    /// The channel that is notified once it is durable.
    pub(super) done: Option<SyncSender<Durable>>,
}

/// The lines that wait, and the refusals that are still counted.
#[derive(Debug, Default)]
pub(super) struct AuditQueue {
    lines: Mutex<Lines>,
    arrived: Condvar,
}

#[derive(Debug, Default)]
struct Lines {
    waiting: VecDeque<QueuedLine>,
    /// The number of waiting lines that must be kept, and of the others.
    kept: usize,
    others: usize,
    refusals: Refusals,
    /// Lines that found no place or could not be written.
    lost: u64,
    is_closed: bool,
}

/// Lines to be written now.
pub(super) struct Batch {
    pub(super) lines: Vec<QueuedLine>,
    /// Lines lost before these.
    pub(super) lost: u64,
}

impl AuditQueue {
    /// Takes a line, or counts it as lost. Never blocks.
    pub(super) fn put(&self, line: AuditLine) {
        let mut lines = self.lock();
        let line = if line.is_refused() {
            lines.refusals.add(line, Instant::now())
        } else {
            Some(line)
        };
        if let Some(line) = line {
            lines.put(QueuedLine { line, done: None });
        }
        self.arrived.notify_one();
    }

    /// Takes a line that is to be durable, and returns where that is said. `None` if there is no place.
    pub(super) fn put_durable(&self, line: AuditLine) -> Option<Receiver<Durable>> {
        let (done, durable) = sync_channel(1);
        let done = Some(done);
        let is_taken = self.lock().put(QueuedLine { line, done });
        self.arrived.notify_one();
        is_taken.then_some(durable)
    }

    /// Counts lines that could not be written.
    pub(super) fn lost(&self, count: u64) {
        self.lock().lost += count;
    }

    /// No more lines will come.
    pub(super) fn close(&self) {
        self.lock().is_closed = true;
        self.arrived.notify_one();
    }

    /// Waits for the next lines, and returns none after a second without any. `None` when the queue is closed and all lines were
    /// taken.
    pub(super) fn next(&self) -> Option<Batch> {
        let mut lines = self.lock();
        let end = Instant::now() + LOOK_PATIENCE;
        loop {
            let now = Instant::now();
            if lines.is_closed || lines.refusals.due().is_some_and(|due| due <= now) {
                lines.take_refusals();
            }
            if !lines.waiting.is_empty() || (now >= end && !lines.is_closed) {
                return Some(lines.batch());
            }
            if lines.is_closed {
                return None;
            }
            let due = lines.refusals.due();
            let until = due.map_or(end, |due| due.min(end));
            let waited = self.arrived.wait_timeout(lines, until - now);
            lines = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lines {
    /// Returns whether there was a place.
    fn put(&mut self, waiting: QueuedLine) -> bool {
        let (count, max) = self.lane(&waiting.line);
        let has_place = *count < max;
        if has_place {
            *count += 1;
            self.waiting.push_back(waiting);
        } else {
            self.lost += 1;
        }
        has_place
    }

    /// The number of waiting lines that the line belongs to, and its bound.
    fn lane(&mut self, line: &AuditLine) -> (&mut usize, usize) {
        if line.kind().is_kept() && !line.is_refused() {
            (&mut self.kept, KEPT_QUEUE_MAX)
        } else {
            (&mut self.others, QUEUE_MAX)
        }
    }

    fn take_refusals(&mut self) {
        for line in self.refusals.take() {
            self.put(QueuedLine { line, done: None });
        }
    }

    fn batch(&mut self) -> Batch {
        let count = self.waiting.len().min(BATCH_MAX);
        let lines: Vec<QueuedLine> = self.waiting.drain(..count).collect();
        for waiting in &lines {
            *self.lane(&waiting.line).0 -= 1;
        }
        // Without a line that could be written, the number of lost ones could not be either.
        let lost = match lines.is_empty() {
            true => 0,
            false => std::mem::take(&mut self.lost),
        };
        Batch { lines, lost }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_of_starts_does_not_displace_lines_about_users() {
        let queue = AuditQueue::default();
        let line = |action: &str| AuditLine::new("ann".into(), None, action);
        for _ in 0..QUEUE_MAX + 10 {
            queue.put(line("flow.start"));
        }
        queue.put(line("PATCH /v1/users/bob").of("bob"));
        queue.put(
            AuditLine::anonymous(None, "login")
                .of("x")
                .refused("api.login_failed"),
        );
        queue.put(line("login"));
        queue.close();
        let mut batches = Vec::new();
        while let Some(batch) = queue.next() {
            batches.push(batch);
        }
        assert_eq!(batches.iter().map(|batch| batch.lost).sum::<u64>(), 11);
        let lines = || batches.iter().flat_map(|batch| &batch.lines);
        assert_eq!(lines().count(), QUEUE_MAX + 2);
        assert_eq!(
            lines()
                .filter(|waiting| waiting.line.kind().is_kept())
                .count(),
            2
        );
        let lines = queue.lock();
        assert_eq!((lines.kept, lines.others), (0, 0));
    }
}
