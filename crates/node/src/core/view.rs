//! The vault view's thread: fed in the order of the ledger, asked for coins, and filled again from the ledger at start and after
//! failures.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use kernel::port::Reads;
use kernel::{Event, Found, LINEAR_LOOKED_AT_MAX, LookUp};
use ledger::StateRef;
use vault::RefillRequest;
use vaultview::{CoinCursor, VaultReader, VaultView, ViewError, ViewProgress};

use super::messages::KernelHandle;
use super::quarantine;
use super::readers::Readers;
use super::view_feed::{Fed, Job, ViewFailure, ViewFeed, count, found_damaged};
use super::view_fill::Filler;
use super::view_rows::coin_row;
use crate::metrics::NodeMetrics;

/// Approximate number of changes applied in one transaction of the view. It bounds the memory that a transaction takes.
const APPLY_CHANGES: usize = 4_096;
/// The first pause before the view is opened again after a failure; it doubles with each.
const PAUSE_FIRST: Duration = Duration::from_millis(250);
/// The longest such pause.
const PAUSE_LONGEST: Duration = Duration::from_secs(15);

/// The view's thread and its state.
pub(super) struct ViewThread<R> {
    view: VaultView,
    /// None between a failure and the next opening.
    reader: Option<VaultReader>,
    filler: Filler<R>,
    feed: Arc<ViewFeed>,
    kernel: KernelHandle,
    metrics: Arc<NodeMetrics>,
    /// The readers of queries, which are closed while the view is opened again.
    readers: Arc<Readers>,
    /// Rows that wait to be applied, and the number of changes that they belong to.
    rows: Vec<vaultview::ViewChange>,
    counted: u64,
    /// The position that the rows lead to.
    upto: u64,
    /// The pause before the view is opened again.
    pause: Duration,
    /// The last failure because of which the view was dropped and filled again.
    dropped_for: Option<ViewFailure>,
}

/// The parts that a view's thread works with.
pub(super) struct ViewParts<R> {
    pub(super) view: VaultView,
    pub(super) reader: VaultReader,
    pub(super) filler: Filler<R>,
    pub(super) feed: Arc<ViewFeed>,
    pub(super) kernel: KernelHandle,
    pub(super) metrics: Arc<NodeMetrics>,
    pub(super) readers: Arc<Readers>,
}

impl<R: Reads> ViewThread<R> {
    pub(super) fn new(parts: ViewParts<R>) -> Self {
        Self {
            upto: parts.view.upto(),
            view: parts.view,
            reader: Some(parts.reader),
            filler: parts.filler,
            feed: parts.feed,
            kernel: parts.kernel,
            metrics: parts.metrics,
            readers: parts.readers,
            rows: Vec::new(),
            counted: 0,
            pause: PAUSE_FIRST,
            dropped_for: None,
        }
    }

    /// Fills the view up to the ledger's end, then follows. After a failure opens the view again, after longer and longer pauses.
    pub(super) fn run(mut self) {
        let mut jobs = VecDeque::new();
        while let Err(failure) = self.work(&mut jobs) {
            self.drop_contradiction(&failure);
            self.feed.fail(failure);
            self.forget_rows();
            if !self.recover() {
                return;
            }
        }
    }

    /// Has the view filled again if it contradicts the ledger: no other attempt could end such a failure. If the same failure
    /// follows, this program is at fault, and the view stands still.
    fn drop_contradiction(&mut self, failure: &ViewFailure) {
        if failure.is_damage && self.dropped_for.as_ref() != Some(failure) {
            VaultView::condemn(&self.readers.path);
            self.dropped_for = Some(failure.clone());
        }
    }

    /// Works until the thread is to stop. After a failure the next call does the jobs that are left.
    fn work(&mut self, jobs: &mut VecDeque<Job>) -> Result<(), ViewFailure> {
        // Everything fed so far is in the ledger; jobs that bring it again are passed over.
        self.follow(self.feed.fed_seq())?;
        self.upto = self.view.upto();
        self.quarantine(&quarantine::all(&self.filler.reads)?)?;
        self.feed.set_quarantine_whole(true);
        loop {
            while let Some(job) = jobs.pop_front() {
                let more = matches!(jobs.front(), Some(Job::Feed(_)));
                match job {
                    Job::Follow { upto, changes } => {
                        self.feed
                            .waiting_changes
                            .fetch_sub(changes, Ordering::Relaxed);
                        self.follow(upto)?;
                    }
                    Job::Feed(fed) => self.take_in(fed, more)?,
                    Job::Quarantine(states) => {
                        if let Err(failure) = self.quarantine(&states) {
                            jobs.push_front(Job::Quarantine(states));
                            return Err(failure);
                        }
                        self.feed.quarantine_shown();
                    }
                    Job::Refill(request) => {
                        if let Err(failure) = self.refill(&request) {
                            jobs.push_front(Job::Refill(request));
                            return Err(failure);
                        }
                    }
                    Job::LookUp(flow, effect, what) => match self.look_up(&what) {
                        Ok(found) => self.kernel.tell(Event::LookedUp {
                            flow,
                            effect,
                            found,
                        }),
                        Err(failure) => {
                            jobs.push_front(Job::LookUp(flow, effect, what));
                            return Err(failure);
                        }
                    },
                    Job::Reopen(failure) => return Err(failure),
                    Job::Stop => return Ok(()),
                }
            }
            self.feed.recovered();
            self.feed.take(jobs);
        }
    }

    /// Opens the view again, until that succeeds or the thread is to stop (`false`).
    fn recover(&mut self) -> bool {
        loop {
            if self.feed.stops_within(self.pause) {
                return false;
            }
            // Every pause but the first follows an attempt in vain.
            self.pause = (self.pause * 2).min(PAUSE_LONGEST);
            match self.reopen() {
                Ok(()) => return true,
                Err(error) => self.feed.fail(error.into()),
            }
        }
    }

    fn reopen(&mut self) -> Result<(), ViewError> {
        let closed = self.readers.close();
        self.feed.set_quarantine_whole(false);
        self.reader = None;
        self.view.reopen(self.feed.fed_seq())?;
        self.reader = Some(self.view.reader()?);
        drop(closed);
        Ok(())
    }

    /// Adds changes to the rows, but for those that the view has already; applies them unless more changes follow at once.
    fn take_in(&mut self, fed: Vec<Fed>, more: bool) -> Result<(), ViewFailure> {
        let changes = count(&fed);
        self.feed.held_changes.fetch_sub(changes, Ordering::Relaxed);
        self.counted += changes;
        for (seq, _, at, changes) in fed {
            if seq > self.view.upto() {
                self.upto = self.upto.max(seq);
                self.filler.rows_of(at, changes, &mut self.rows)?;
            }
            if self.rows.len() >= APPLY_CHANGES {
                self.apply()?;
            }
        }
        if more {
            return Ok(());
        }
        if self.upto <= self.view.upto() {
            self.forget_rows();
            return Ok(());
        }
        self.apply()
    }

    /// Writes the collected rows into the view, in one transaction with the position that they reach.
    fn apply(&mut self) -> Result<(), ViewFailure> {
        let began = Instant::now();
        let upto = self.upto.max(self.view.upto());
        self.view.apply(upto, &self.rows)?;
        self.metrics.view_batch.record(self.rows.len() as u64);
        self.metrics.view_time.record_time(began.elapsed());
        self.metrics.view_seq.set_count(upto);
        self.feed.come_to(upto);
        self.forget_rows();
        self.pause = PAUSE_FIRST;
        Ok(())
    }

    /// Forgets the rows that wait: they are in the view, or are read from the ledger again.
    fn forget_rows(&mut self) {
        self.rows.clear();
        let counted = std::mem::take(&mut self.counted);
        self.feed
            .waiting_changes
            .fetch_sub(counted, Ordering::Relaxed);
    }

    /// Reads the ledger up to a position that it has reached, and no further: later changes are fed.
    fn follow(&mut self, end: u64) -> Result<(), ViewFailure> {
        while self.view.upto() < end {
            if !self.filler.fill_page(&mut self.view, end)? {
                break;
            }
            self.pause = PAUSE_FIRST;
        }
        let upto = self.view.upto();
        self.upto = self.upto.max(upto);
        self.metrics.view_seq.set_count(upto);
        self.feed.come_to(upto);
        Ok(())
    }

    /// Puts states into quarantine. No rows of changes wait at that time.
    fn quarantine(&mut self, states: &[StateRef]) -> Result<(), ViewFailure> {
        assert!(self.rows.is_empty(), "changes fed before are applied");
        quarantine::show(&mut self.view, &self.filler.reads, states)?;
        Ok(())
    }

    fn reader(&self) -> Result<&VaultReader, ViewFailure> {
        self.reader.as_ref().ok_or_else(found_damaged)
    }

    fn look_up(&self, what: &LookUp) -> Result<Found, ViewFailure> {
        let reader = self.reader()?;
        match what {
            LookUp::Linear { contract, id } => {
                let rows = reader.linear(contract.as_str(), id.as_bytes(), LINEAR_LOOKED_AT_MAX)?;
                let coins = rows.into_iter().filter_map(coin_row);
                Ok(Found::States(coins.map(|row| row.coin).collect()))
            }
            LookUp::Consumed(refs) => {
                for reference in refs {
                    let seq = self
                        .filler
                        .reads
                        .get(kernel::port::Table::TxIndex, reference.tx.as_bytes())?;
                    let Some(seq) = seq.as_deref().and_then(kernel::rows::seq_of) else {
                        continue;
                    };
                    let row = reader.state_at(seq, reference.index)?;
                    if row.is_some_and(|row| row.consumed_seq.is_some()) {
                        return Ok(Found::Consumed(Some(*reference)));
                    }
                }
                Ok(Found::Consumed(None))
            }
        }
    }

    fn refill(&self, request: &RefillRequest) -> Result<(), ViewFailure> {
        let reader = self.reader()?;
        let token = request.token.as_bytes();
        let from = request
            .from
            .map(|at| CoinCursor::at_most(at.quantity, at.seq, at.index));
        let found = reader.coins(token, from, request.limit, |_, _| false)?;
        let total = reader.balance(token)?.map_or(0, |balance| balance.quantity);
        let view_seq = self.view.upto();
        let more = found.len() >= request.limit;
        let rows = found.into_iter().filter_map(coin_row).collect();
        self.kernel.tell(Event::Refilled {
            token: request.token,
            rows,
            view_seq,
            total,
            more,
        });
        Ok(())
    }
}

/// Opens the view's file next to the ledger.
pub(super) fn open(
    path: &Path,
    options: &vaultview::ViewOptions,
    ledger_end: u64,
) -> Result<(VaultView, VaultReader, ViewProgress), vaultview::ViewError> {
    let view = VaultView::open(path, options, ledger_end)?;
    let reader = view.reader()?;
    let progress = view.progress();
    Ok((view, reader, progress))
}
