//! What a chain node's threads share.

use std::any::Any;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use chain::core::{Core, Event, Notice, Ticket};
use chain::port::{FailureKind, StoreFailure, Table};
use chain::{Genesis, Rejection, TxId};
use store::Embedded;
use tokio::sync::{Notify, OwnedSemaphorePermit, broadcast, oneshot, watch};

use super::clock::ChainClock;
use super::figures::Shown;
use super::gossip::Peers;
use super::metrics::ChainMetrics;
use super::start_error::PANICKED;
use crate::core::mailbox::{Mailbox, Weigh};
use crate::http::{Refusal, contain};

/// The store of a chain.
pub(super) type Store = Embedded<Table>;

/// Notices that a follower may fall behind by; then it is cut off.
const NOTICES_MAX: usize = 1_024;

/// A look at the core, on its own thread, between two rounds.
pub(super) type Look = Box<dyn FnOnce(&Core<Store>) + Send>;

/// What the core's thread is told.
pub(super) enum Work {
    /// Something happened.
    Event(Event),
    /// The oldest round that was submitted is durable.
    Committed,
    /// Somebody wants to see what only the core knows.
    Look(Look),
}

impl Weigh for Work {
    fn peer_bytes(&self) -> usize {
        match self {
            Work::Event(Event::Gossip { bytes, .. } | Event::Asked { bytes, .. }) => bytes.len(),
            Work::Event(Event::Answered { result, .. }) => result.as_ref().map_or(0, Vec::len),
            _ => 0,
        }
    }
}

/// What comes of transactions that were submitted together.
pub(super) type Outcomes = Vec<Result<TxId, Rejection>>;

/// Who waits for an answer of the core.
pub(super) enum Waiter {
    /// A client that submitted, with the places that its transactions take until then.
    Submit(oneshot::Sender<Outcomes>, OwnedSemaphorePermit),
    /// An operator.
    Order(oneshot::Sender<Result<String, Rejection>>),
}

/// See the module.
pub(super) struct Shared {
    pub(super) genesis: Arc<Genesis>,
    pub(super) clock: ChainClock,
    pub(super) mailbox: Mailbox<Work>,
    /// The core has taken what waited.
    pub(super) taken: Notify,
    pub(super) store: Store,
    pub(super) peers: Peers,
    pub(super) metrics: ChainMetrics,
    pub(super) notices: broadcast::Sender<Arc<Notice>>,
    /// As the core left them after its last round, and what is counted of notices.
    pub(super) shown: Mutex<Shown>,
    /// Why no more work is taken: the store has failed, or something has panicked.
    pub(super) failed: watch::Sender<Option<StoreFailure>>,
    waiting: Mutex<HashMap<Ticket, Waiter>>,
    tickets: AtomicU64,
    ended: watch::Sender<bool>,
}

impl Shared {
    pub(super) fn new(
        genesis: Arc<Genesis>,
        store: Store,
        peers: Peers,
        inbound_bytes: usize,
        shown: Shown,
    ) -> Self {
        Self {
            clock: ChainClock::new(genesis.time_ms),
            genesis,
            mailbox: Mailbox::new(inbound_bytes),
            taken: Notify::new(),
            store,
            peers,
            metrics: ChainMetrics::new(),
            notices: broadcast::channel(NOTICES_MAX).0,
            shown: Mutex::new(shown),
            failed: watch::channel(None).0,
            waiting: Mutex::default(),
            tickets: AtomicU64::new(1),
            ended: watch::channel(false).0,
        }
    }

    /// Tells the core's thread an event.
    pub(super) fn tell(&self, event: Event) {
        self.mailbox.push(Work::Event(event));
    }

    /// Tells an event that will be answered. The number of those who wait is bounded by the API's places.
    pub(super) fn ask(&self, waiter: Waiter, event: impl FnOnce(Ticket) -> Event) {
        let ticket = self.tickets.fetch_add(1, Ordering::Relaxed);
        self.lock_waiting().insert(ticket, waiter);
        self.tell(event(ticket));
        if self.is_stopping() {
            // The core's thread may have ended before it saw the event: then nobody else answers.
            self.lock_waiting().remove(&ticket);
        }
    }

    /// Who waits for this answer.
    pub(super) fn waiter(&self, ticket: Ticket) -> Option<Waiter> {
        self.lock_waiting().remove(&ticket)
    }

    /// Looks at the core between two of its rounds. Keep it short: the chain waits meanwhile.
    pub(super) async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Core<Store>) -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        let (sender, receiver) = oneshot::channel();
        self.mailbox.push(Work::Look(Box::new(move |core| {
            // Whoever asked may have gone.
            let _ = sender.send(look(core));
        })));
        let mut ended = self.ended.subscribe();
        tokio::select! {
            seen = receiver => seen.map_err(|_| self.gone()),
            // The core's thread takes nothing any more: what it left is in nobody's hands.
            _ = ended.wait_for(|ended| *ended) => Err(self.gone()),
        }
    }

    /// The store failed: nothing is written any more, everybody who waits hears why.
    pub(super) fn fail(&self, failure: &StoreFailure) {
        tracing::error!(
            code = failure.code,
            hint = failure.hint,
            "the node takes no more work: {}",
            failure.message
        );
        self.metrics.commit_failures.increment();
        self.give_up(failure);
    }

    /// The node met a bug where it can't be got around: it ends as it does when its store fails.
    pub(super) fn panicked(&self, panic: &(dyn Any + Send)) {
        let failure = StoreFailure {
            kind: FailureKind::Panic,
            code: PANICKED.code,
            message: format!("the node's chain met a bug: {}", contain::text(panic)),
            hint: PANICKED.action,
        };
        tracing::error!(
            code = failure.code,
            hint = failure.hint,
            "the node takes no more work: {}",
            failure.message
        );
        self.give_up(&failure);
    }

    fn give_up(&self, failure: &StoreFailure) {
        self.failed.send_if_modified(|failed| {
            let first = failed.is_none();
            failed.get_or_insert_with(|| failure.clone());
            first
        });
        self.end();
    }

    /// Ends the core's thread; whoever waits for it is let go.
    pub(super) fn end(&self) {
        self.ended.send_replace(true);
        self.mailbox.close();
        self.taken.notify_waiters();
        self.lock_waiting().clear();
    }

    /// Waits for so long, or until the node stops.
    pub(super) async fn stopped_within(&self, time: std::time::Duration) {
        let mut ended = self.ended.subscribe();
        // Either way the caller looks.
        let _ = tokio::time::timeout(time, ended.wait_for(|ended| *ended)).await;
    }

    pub(super) fn is_stopping(&self) -> bool {
        *self.ended.borrow()
    }

    pub(super) fn failure(&self) -> Option<StoreFailure> {
        self.failed.borrow().clone()
    }

    /// Why there is no answer.
    pub(super) fn gone(&self) -> Refusal {
        let Some(failure) = self.failure() else {
            return Refusal::listed(&api::codes::NODE_STOPPING, "the node is stopping");
        };
        let info = if failure.kind == FailureKind::Panic {
            &api::codes::NODE_STOPPING
        } else {
            &api::codes::STORE_FAILED
        };
        Refusal::listed(info, format!("{} ({})", failure.message, failure.code))
    }

    pub(super) fn shown(&self) -> Shown {
        self.lock_shown().clone()
    }

    pub(super) fn lock_shown(&self) -> std::sync::MutexGuard<'_, Shown> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_waiting(&self) -> std::sync::MutexGuard<'_, HashMap<Ticket, Waiter>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
