//! Removes unneeded files and reports missing ones, at the start and every hour.
//!
//! The age of a file is a difference of wall-clock times. So nothing is removed for its age while the clock is not confirmed: a clock
//! that is a year ahead would make every file old.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, SystemTime};

use kernel::files::{FILE_PAGE_MAX, FileFilter, FileRecord, file_page, file_row};
use kernel::port::StoreFailure;
use kernel::{Event, Token};
use primitives::{Coded, Hash};
use store::{Files, FilesError, PartId, Removed};

use super::errors::LOST;
use crate::core::messages::KernelHandle;
use crate::http::Ticket;
use crate::ledger_store::LedgerStore;
use crate::metrics::NodeMetrics;

/// Between two rounds.
const EVERY: Duration = Duration::from_secs(3_600);
/// A file without a row that is younger may still get one.
const ORPHAN_AGE: Duration = Duration::from_secs(3_600);
/// Missing files that the log names.
const NAMED_MAX: u64 = 5;
/// Files that one round takes away for their age; the next round goes on.
const RETIRED_MAX: usize = 10_000;

/// Retention times of files and parts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UpkeepOptions {
    /// Files that no transaction refers to, since their arrival. They stay forever if this is `None`.
    pub(crate) unreferenced: Option<Duration>,
    /// The part of a file that was not fetched completely, since its last write.
    pub(crate) parts: Duration,
}

/// The upkeep of stored files.
pub(super) struct Upkeep {
    pub(super) files: Files,
    pub(super) store: LedgerStore,
    pub(super) kernel: KernelHandle,
    pub(super) metrics: Arc<NodeMetrics>,
    pub(super) options: UpkeepOptions,
    /// Returns whether the wall clock is confirmed.
    pub(super) trusts_clock: Box<dyn Fn() -> bool + Send>,
}

impl Upkeep {
    /// Runs until the other end of the channel is gone.
    pub(super) fn run(self, stopped: &Receiver<()>) {
        loop {
            self.round();
            match stopped.recv_timeout(EVERY) {
                Err(RecvTimeoutError::Timeout) => {}
                Ok(()) | Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn round(&self) {
        let done = [
            ("files without a row", self.take_orphans()),
            ("parts of files", self.take_parts()),
        ];
        for (what, done) in done {
            match done {
                Ok(0) => {}
                Ok(count) => tracing::info!(count, "{what} were taken away"),
                Err(error) => {
                    let (code, hint) = (error.code(), error.hint());
                    tracing::warn!(code, hint, "{what} could not be examined: {error}");
                }
            }
        }
        if let Err(failure) = self.look_at_rows() {
            let (code, hint) = (failure.code, failure.hint);
            tracing::warn!(
                code,
                hint,
                "cannot compare the rows of files with the disk: {}",
                failure.message
            );
        }
    }

    /// Removes files without a row, unless a row is about to be written for them. Returns how many.
    fn take_orphans(&self) -> Result<u64, FilesError> {
        let mut taken = 0;
        for found in self.files.list() {
            let found = found?;
            if !self.is_older(found.modified, ORPHAN_AGE) || self.has_row(&found.hash) {
                continue;
            }
            let has_row = || self.has_row(&found.hash);
            if self.files.remove_unless(&found.hash, has_row)? == Removed::Gone {
                taken += 1;
            }
        }
        Ok(taken)
    }

    /// Returns whether the file has a row. Returns true if the row cannot be read, so that a read error never removes a file.
    fn has_row(&self, hash: &Hash) -> bool {
        file_row(&self.store, hash).map_or(true, |row| row.is_some())
    }

    /// Removes the parts of files whose transfer has been idle for long. Returns how many. Uploads have their own upkeep.
    fn take_parts(&self) -> Result<u64, FilesError> {
        let mut taken = 0;
        for part in self.files.parts()? {
            let is_fetched = matches!(part.id, PartId::Fetch(_));
            if !is_fetched || part.open || !self.is_older(part.modified, self.options.parts) {
                continue;
            }
            match self.files.remove_part(part.id) {
                Ok(gone) => taken += u64::from(gone),
                // Its transfer continues.
                Err(FilesError::Busy { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(taken)
    }

    /// Rows whose file is not here, and rows whose time is over.
    fn look_at_rows(&self) -> Result<(), StoreFailure> {
        let (mut after, mut count, mut lost) = (None, 0, 0);
        let mut retired = Vec::new();
        loop {
            let filter = FileFilter::default();
            let page = file_page(&self.store, after.as_ref(), FILE_PAGE_MAX, &filter)?;
            for FileRecord { hash, row } in page.files {
                count += 1;
                // Removed since it was listed: no loss. A disk that says nothing says so elsewhere.
                if matches!(self.files.size(&hash), Ok(None))
                    && file_row(&self.store, &hash)?.is_some()
                {
                    lost += 1;
                    if lost <= NAMED_MAX {
                        tracing::error!(code = LOST, file = %hash, name = row.name, "the file of an attachment is missing");
                    }
                }
                let stored = Duration::from_millis(row.stored_at.as_ms());
                let stored = SystemTime::UNIX_EPOCH.checked_add(stored);
                let over = |age| stored.is_some_and(|stored| self.is_older(stored, age));
                let over = row.refs == 0 && self.options.unreferenced.is_some_and(over);
                if over && retired.len() < RETIRED_MAX {
                    retired.push(hash);
                }
            }
            let Some(next) = page.next else { break };
            after = Some(next);
        }
        self.metrics.files_here.set_count(count);
        self.metrics.files_lost.set_count(lost);
        if !retired.is_empty() {
            tracing::info!(
                count = retired.len(),
                "files that no transaction refers to have been here long enough"
            );
        }
        // The kernel refuses files that a transaction refers to by now. Its answers are not awaited.
        let removals = retired.into_iter().map(|hash| Event::FileRemove {
            hash,
            token: Token(Ticket::next_id()),
        });
        self.kernel.tell_all(removals);
        Ok(())
    }

    /// Returns whether a time is longer ago than `age` by a confirmed clock. A time in the future is not.
    fn is_older(&self, time: SystemTime, age: Duration) -> bool {
        time.elapsed().is_ok_and(|elapsed| elapsed > age) && (self.trusts_clock)()
    }
}
