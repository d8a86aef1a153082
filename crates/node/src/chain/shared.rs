//! State that a chain node's threads share.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chain::core::{Event, Notice, OrderDone, Ticket};
use chain::port::{FailureKind, StoreFailure};
use chain::{Genesis, Rejection, TxId};
use runtime::{Stopped, Waiters};
use tokio::sync::{Notify, OwnedSemaphorePermit, broadcast, oneshot};

use super::clock::ChainClock;
use super::figures::Shown;
use super::gossip::Peers;
use super::messages::CoreHandle;
use super::metrics::ChainMetrics;
use super::queries::ChainQuery;
use super::store::Store;
use crate::http::Refusal;

/// Notices that a follower may lag behind by. A follower with a larger lag is cut off.
const NOTICES_MAX: usize = 1_024;

/// The outcomes of transactions that were submitted together, in their order.
pub(super) type Outcomes = Vec<Result<TxId, Rejection>>;

/// A caller that waits for an answer of the core.
pub(super) enum Waiter {
    /// A client that submitted transactions, with the places that they occupy until the answer.
    Submit(oneshot::Sender<Outcomes>, OwnedSemaphorePermit),
    /// An operator.
    Order(oneshot::Sender<Result<OrderDone, Rejection>>),
}

/// State that the core's thread, the commit thread, the peers and the API share.
pub(super) struct ChainNodeState {
    pub(super) genesis: Arc<Genesis>,
    pub(super) clock: ChainClock,
    pub(super) core: CoreHandle,
    /// Notified when the core has taken the waiting messages.
    pub(super) taken: Notify,
    pub(super) store: Store,
    pub(super) peers: Peers,
    pub(super) metrics: ChainMetrics,
    pub(super) notices: broadcast::Sender<Arc<Notice>>,
    /// The core's figures after its last round, and the rate of recent blocks.
    pub(super) shown: Mutex<Shown>,
    waiting: Waiters<Waiter>,
    tickets: AtomicU64,
}

impl ChainNodeState {
    pub(super) fn new(
        genesis: Arc<Genesis>,
        store: Store,
        peers: Peers,
        core: CoreHandle,
        shown: Shown,
    ) -> Self {
        Self {
            clock: ChainClock::new(genesis.time_ms),
            genesis,
            core,
            taken: Notify::new(),
            store,
            peers,
            metrics: ChainMetrics::new(),
            notices: broadcast::channel(NOTICES_MAX).0,
            shown: Mutex::new(shown),
            waiting: Waiters::default(),
            tickets: AtomicU64::new(1),
        }
    }

    /// Sends the core an event.
    pub(super) fn tell(&self, event: Event) {
        self.core.tell(event);
    }

    /// Sends the core an event that it answers. If the node stops, the caller is dropped. The API's places bound the number of
    /// callers.
    pub(super) fn ask(&self, waiter: Waiter, event: impl FnOnce(Ticket) -> Event) {
        let ticket = self.tickets.fetch_add(1, Ordering::Relaxed);
        if self.waiting.register([(ticket, waiter)]).is_ok() {
            self.tell(event(ticket));
        }
    }

    /// Takes the caller that waits for this answer, if it still waits.
    pub(super) fn waiter(&self, ticket: Ticket) -> Option<Waiter> {
        self.waiting.take(ticket)
    }

    /// Asks the core a question, which it answers between two rounds.
    ///
    /// # Errors
    /// The node stops.
    pub(super) async fn query<T>(
        &self,
        query: impl FnOnce(oneshot::Sender<T>) -> ChainQuery,
    ) -> Result<T, Refusal> {
        self.core.ask(query).await.map_err(|Stopped| self.gone())
    }

    /// Stops the core's thread and lets go of all that wait for it.
    pub(super) fn end(&self) {
        self.core.stop();
        self.let_go();
    }

    /// Drops the callers that wait for the core, after it has stopped.
    pub(super) fn let_go(&self) {
        self.taken.notify_waiters();
        drop(self.waiting.close());
    }

    /// Waits for this time, or until the node stops.
    pub(super) async fn stopped_within(&self, time: Duration) {
        // The caller checks which of the two happened.
        let _ = tokio::time::timeout(time, self.core.stopped()).await;
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.core.is_stopping()
    }

    pub(super) fn failure(&self) -> Option<StoreFailure> {
        self.core.failure()
    }

    /// Returns the refusal of a request that the core will not answer.
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
}
