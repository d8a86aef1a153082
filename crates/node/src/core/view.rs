//! The vault view's thread: fed in the order of the ledger, asked for coins, and filled again from the ledger at start.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use kernel::port::Reads;
use kernel::{Event, Found, LINEAR_LOOKED_AT_MAX, LookUp};
use store::{CoinCursor, VaultReader, VaultView, ViewProgress};
use vault::RefillRequest;

use super::mailbox::Mailbox;
use super::view_feed::{Job, ViewFeed, count};
use super::view_fill::{FillError, Filler, condemn};
use super::view_rows::coin_row;
use crate::metrics::NodeMetrics;

/// Changes applied in one transaction of the view, about.
const APPLY_CHANGES: usize = 20_000;
/// What the thread owns.
pub(super) struct ViewThread<R> {
    pub(super) view: VaultView,
    pub(super) reader: VaultReader,
    pub(super) filler: Filler<R>,
    pub(super) feed: Arc<ViewFeed>,
    pub(super) mailbox: Arc<Mailbox>,
    pub(super) metrics: Arc<NodeMetrics>,
    /// The ledger's end when the node started: up to there the view is filled from the ledger.
    pub(super) ledger_end: u64,
}

impl<R: Reads> ViewThread<R> {
    /// Fills the view up to the ledger's end, then follows.
    pub(super) fn run(mut self) {
        if let Err(why) = self.follow(self.ledger_end) {
            self.feed.fail(why);
            return;
        }
        let mut jobs = VecDeque::new();
        let mut rows = Vec::new();
        let mut counted = 0;
        let mut upto = self.view.upto();
        loop {
            self.feed.take(&mut jobs);
            while let Some(job) = jobs.pop_front() {
                match job {
                    Job::Follow { upto: end, changes } => {
                        let followed = self.follow(end);
                        if let Err(why) = followed {
                            self.feed.fail(why);
                            return;
                        }
                        upto = upto.max(end);
                        self.feed
                            .waiting_changes
                            .fetch_sub(changes, Ordering::Relaxed);
                    }
                    Job::Feed(fed) => {
                        self.feed
                            .held_changes
                            .fetch_sub(count(&fed), Ordering::Relaxed);
                        for (seq, _, at, changes) in fed {
                            upto = upto.max(seq);
                            counted += changes.len() as u64;
                            if let Err(why) = self.filler.rows_of(at, changes, &mut rows) {
                                self.feed.fail(why.message);
                                return;
                            }
                        }
                        let more = matches!(jobs.front(), Some(Job::Feed(_)));
                        if (!more || rows.len() >= APPLY_CHANGES)
                            && !self.apply(upto, &mut rows, &mut counted)
                        {
                            return;
                        }
                    }
                    Job::Refill(request) => {
                        if let Err(why) = self.refill(&request) {
                            self.feed.fail(why);
                            return;
                        }
                    }
                    Job::LookUp(flow, effect, what) => {
                        let found = match self.look_up(what) {
                            Ok(found) => found,
                            Err(why) => {
                                self.feed.fail(why);
                                return;
                            }
                        };
                        self.mailbox.push(Event::LookedUp {
                            flow,
                            effect,
                            found,
                        });
                    }
                    Job::Stop => return,
                }
            }
        }
    }

    fn apply(&mut self, upto: u64, rows: &mut Vec<store::ViewChange>, counted: &mut u64) -> bool {
        let began = Instant::now();
        let outcome = self.view.apply(upto, rows);
        self.metrics.view_batch.record(rows.len() as u64);
        self.metrics.view_time.record_time(began.elapsed());
        self.metrics.view_seq.set_count(upto);
        if outcome.is_ok() {
            self.feed.come_to(upto);
        }
        self.feed
            .waiting_changes
            .fetch_sub(std::mem::take(counted), Ordering::Relaxed);
        rows.clear();
        match outcome {
            Ok(()) => true,
            Err(error) => {
                condemn(&error);
                self.feed.fail(error.to_string());
                false
            }
        }
    }

    /// Reads the ledger up to a position that it has reached, and no further: what comes after it is fed.
    fn follow(&mut self, end: u64) -> Result<(), String> {
        while self.view.upto() < end {
            let more = self.filler.fill_page(&mut self.view, end);
            if !more.map_err(|error| self.failed(&error))? {
                break;
            }
        }
        self.metrics.view_seq.set_count(self.view.upto());
        self.feed.come_to(self.view.upto());
        Ok(())
    }

    /// What is said of an error; a view that is damaged is filled again at the next start.
    fn failed(&self, error: &FillError) -> String {
        if let FillError::View(error) = error {
            condemn(error);
        }
        error.to_string()
    }

    fn look_up(&self, what: LookUp) -> Result<Found, String> {
        let failed = view_failed;
        match what {
            LookUp::Linear { contract, id } => {
                let rows = self
                    .reader
                    .linear(contract.as_str(), id.as_bytes(), LINEAR_LOOKED_AT_MAX)
                    .map_err(failed)?;
                let coins = rows.into_iter().filter_map(coin_row);
                Ok(Found::States(coins.map(|row| row.coin).collect()))
            }
            LookUp::Consumed(refs) => {
                for reference in refs {
                    let seq = self
                        .filler
                        .reads
                        .get(kernel::port::Table::TxIndex, reference.tx.as_bytes())
                        .map_err(|failure| failure.message)?;
                    let Some(seq) = seq.as_deref().and_then(kernel::rows::seq_of) else {
                        continue;
                    };
                    let row = self.reader.state_at(seq, reference.index).map_err(failed)?;
                    if row.is_some_and(|row| row.consumed_seq.is_some()) {
                        return Ok(Found::Consumed(Some(reference)));
                    }
                }
                Ok(Found::Consumed(None))
            }
        }
    }

    fn refill(&self, request: &RefillRequest) -> Result<(), String> {
        let token = request.token.as_bytes();
        let from = request
            .from
            .map(|at| CoinCursor::at_most(at.quantity, at.seq, at.index));
        let found = self
            .reader
            .coins(token, from, request.limit, |_, _| false)
            .map_err(view_failed)?;
        let total = self.reader.balance(token).map_err(view_failed)?;
        let view_seq = self.view.upto();
        let more = found.len() >= request.limit;
        let rows = found.into_iter().filter_map(coin_row).collect();
        self.mailbox.push(Event::Refilled {
            token: request.token,
            rows,
            view_seq,
            total: total.map_or(0, |balance| balance.quantity),
            more,
        });
        Ok(())
    }
}

fn view_failed(error: store::ViewError) -> String {
    condemn(&error);
    error.to_string()
}

/// Opens the view's file beside the ledger.
pub(super) fn open(
    path: &Path,
    options: &store::ViewOptions,
    ledger_end: u64,
) -> Result<(VaultView, VaultReader, ViewProgress), store::ViewError> {
    let view = VaultView::open(path, options, ledger_end)?;
    let reader = view.reader()?;
    let progress = view.progress();
    Ok((view, reader, progress))
}
