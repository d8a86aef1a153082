//! What the node's threads share.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kernel::port::StoreFailure;
use kernel::{Figures, Kernel, Priority};
use ledger::{PartyId, Rejection};
use store::ViewProgress;

use super::clock::Clock;
use super::mailbox::Mailbox;
use super::replies::Replies;
use super::view::ViewFeed;
use crate::metrics::NodeMetrics;

/// Sends messages to peers; never blocks.
pub(super) type SendMessages = Box<dyn Fn(Vec<(PartyId, Priority, Vec<u8>)>) + Send + Sync>;

/// See the module.
pub(super) struct Shared {
    pub(super) clock: Clock,
    pub(super) mailbox: Arc<Mailbox>,
    pub(super) replies: Replies,
    pub(super) view: Arc<ViewFeed>,
    pub(super) send: SendMessages,
    pub(super) metrics: Arc<NodeMetrics>,
    pub(super) committed: AtomicU64,
    pub(super) draining: AtomicBool,
    pub(super) drained: tokio::sync::watch::Sender<bool>,
    pub(super) failed: tokio::sync::watch::Sender<Option<Rejection>>,
    pub(super) figures: Mutex<Figures>,
}

impl Shared {
    /// The store failed: nothing is written any more, everybody who waits hears why.
    pub(super) fn fail(&self, failure: &StoreFailure) {
        tracing::error!(
            code = failure.code,
            hint = failure.hint,
            "the node takes no more work: {}",
            failure.message
        );
        self.metrics.commit_failures.increment();
        let code = api::codes::STORE_FAILED;
        let text = format!("{} ({})", failure.message, failure.code);
        let rejection = Rejection::new(code.code, text, code.action);
        self.failed.send_if_modified(|failed| {
            let first = failed.is_none();
            failed.get_or_insert_with(|| rejection.clone());
            first
        });
        self.replies.fail(rejection);
        self.mailbox.close();
    }

    /// The last flow has ended.
    pub(super) fn drained(&self) {
        self.drained.send_replace(true);
    }

    pub(super) fn note_round(&self, events: usize, took: Duration, kernel: &Kernel) {
        self.metrics.round_events.record(events as u64);
        self.metrics.round_time.record_time(took);
        *self.figures.lock().unwrap_or_else(PoisonError::into_inner) = kernel.figures();
    }

    pub(super) fn figures(&self) -> Figures {
        self.figures
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Brings gauges up to date.
    pub(super) fn refresh_metrics(&self, progress: &ViewProgress) {
        let (metrics, figures) = (&self.metrics, self.figures());
        let gauge = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        metrics.flows_in_flight.set(gauge(figures.flows_live));
        metrics.flows_queued.set(gauge(figures.flows_queued));
        metrics.flows_parked.set(gauge(figures.flows_parked));
        metrics.flows_started.set(figures.flows_started);
        metrics.flows_completed.set(figures.flows_done);
        metrics.flows_failed.set(figures.flows_failed);
        metrics.flows_refused.set(figures.starts_busy);
        metrics
            .deliveries_pending
            .set(gauge(figures.deliveries_pending));
        metrics.ledger_seq.set(gauge(figures.transactions));
        metrics.view_seq.set(gauge(progress.upto()));
        metrics.notary_signed.set(figures.notary_signed);
        metrics.notary_conflicts.set(figures.notary_conflicts);
        metrics.notary_refused.set(figures.notary_refused);
        metrics.notary_queued.set(gauge(figures.notary_queued));
        for (name, cache) in kernel::CACHES.into_iter().zip(figures.caches) {
            let (hits, misses) = metrics.cache(name);
            hits.set(cache.hits);
            misses.set(cache.misses);
        }
    }

    pub(super) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }
}
