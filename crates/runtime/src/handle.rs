//! The handle of a core: sends events and queries, and tells whether the core still runs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use primitives::ErrorInfo;
use primitives::storage::StoreFailure;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot, watch};

use crate::core::Messages;
use crate::failure::of_panic;
use crate::mailbox::{Mailbox, Weigh};

/// Maximum number of queries that wait for the core or are being answered. Further callers wait, first come first served. So a round is
/// followed by a bounded number of queries, however many clients ask.
pub const QUERIES_MAX: usize = 8;

/// The handle of a core, for any thread. Cheap to clone.
pub struct Handle<M: Messages> {
    link: Arc<Link<M>>,
}

struct Link<M: Messages> {
    mailbox: Mailbox<Message<M>>,
    /// Places of queries, [`QUERIES_MAX`] in all.
    queries: Arc<Semaphore>,
    /// The first failure.
    failure: watch::Sender<Option<StoreFailure>>,
    stopping: watch::Sender<bool>,
}

/// A message to the core's thread.
pub(crate) enum Message<M: Messages> {
    Event(M::Event),
    /// The commit with this number is durable.
    Committed(u64),
    /// A query, with the place that it holds until it is answered, even if its caller goes before.
    Query(M::Query, OwnedSemaphorePermit),
}

impl<M: Messages> Weigh for Message<M> {
    fn peer_bytes(&self) -> usize {
        match self {
            Message::Event(event) => M::peer_bytes(event),
            Message::Committed(_) | Message::Query(..) => 0,
        }
    }
}

/// The core has stopped, so there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped;

impl<M: Messages> Clone for Handle<M> {
    fn clone(&self) -> Self {
        Self {
            link: Arc::clone(&self.link),
        }
    }
}

impl<M: Messages> Handle<M> {
    /// Returns the handle of a core that is about to start. Its mailbox is full above `inbound_bytes_max` bytes of peers.
    #[must_use]
    pub fn new(inbound_bytes_max: usize) -> Self {
        Self {
            link: Arc::new(Link {
                mailbox: Mailbox::new(inbound_bytes_max),
                queries: Arc::new(Semaphore::new(QUERIES_MAX)),
                failure: watch::Sender::new(None),
                stopping: watch::Sender::new(false),
            }),
        }
    }

    /// Sends an event. See [`Mailbox::push`].
    pub fn tell(&self, event: M::Event) {
        self.link.mailbox.push(Message::Event(event));
    }

    /// Sends events under one lock.
    pub fn tell_all(&self, events: impl IntoIterator<Item = M::Event>) {
        let messages = events.into_iter().map(Message::Event);
        self.link.mailbox.push_all(messages);
    }

    /// Returns true if the mailbox is full, so that events from peers have to wait.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.link.mailbox.is_full()
    }

    /// Sends a query once it has a place, and waits for its answer. See [`QUERIES_MAX`].
    ///
    /// # Errors
    /// The core stops or has stopped.
    pub async fn ask<T>(
        &self,
        query: impl FnOnce(oneshot::Sender<T>) -> M::Query,
    ) -> Result<T, Stopped> {
        let answered = async {
            let queries = Arc::clone(&self.link.queries);
            // It is never closed.
            let place = queries.acquire_owned().await.map_err(|_| Stopped)?;
            let (sender, answer) = oneshot::channel();
            let message = Message::Query(query(sender), place);
            self.link.mailbox.push(message);
            answer.await.map_err(|_| Stopped)
        };
        tokio::select! {
            answer = answered => answer,
            // The core's thread takes no more messages, so the query would never be answered.
            () = self.stopped() => Err(Stopped),
        }
    }

    /// Runs the work of another thread of the node. If it panics, the core stops, as if it had panicked itself. Otherwise a node
    /// without this work would look healthy to its supervisor. `panicked` and `part` describe the failure.
    pub fn guard(&self, panicked: ErrorInfo, part: &str, work: impl FnOnce()) {
        // The thread ends after a panic, so it never uses state that the panic left half changed.
        let Err(panic) = catch_unwind(AssertUnwindSafe(work)) else {
            return;
        };
        let failure = of_panic(panicked, part, &*panic);
        tracing::error!(
            code = failure.code,
            hint = failure.hint,
            "the node takes no more work: {}",
            failure.message
        );
        self.fail(&failure);
    }

    /// Returns the failure that stopped the core, if one did.
    #[must_use]
    pub fn failure(&self) -> Option<StoreFailure> {
        self.link.failure.borrow().clone()
    }

    /// Waits for a failure. Waits forever if the core never fails.
    pub async fn failed(&self) -> StoreFailure {
        let mut failure = self.link.failure.subscribe();
        let found = failure.wait_for(Option::is_some).await;
        match found.map(|failure| failure.clone()) {
            Ok(Some(failure)) => failure,
            // This handle keeps the sender, so the channel stays open.
            _ => std::future::pending().await,
        }
    }

    /// Stops the core's thread. Events that it has not taken are not handled.
    pub fn stop(&self) {
        self.link.stopping.send_replace(true);
        self.link.mailbox.close();
    }

    /// Returns true once the core stops or has stopped.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        *self.link.stopping.borrow()
    }

    /// Waits until the core stops.
    pub async fn stopped(&self) {
        let mut stopping = self.link.stopping.subscribe();
        // This handle keeps the sender, so the channel stays open.
        let _ = stopping.wait_for(|stopping| *stopping).await;
    }

    pub(crate) fn mailbox(&self) -> &Mailbox<Message<M>> {
        &self.link.mailbox
    }

    /// Records a failure, unless there was one before, and stops the core.
    pub fn fail(&self, failure: &StoreFailure) {
        self.link.failure.send_if_modified(|first| {
            let is_first = first.is_none();
            first.get_or_insert_with(|| failure.clone());
            is_first
        });
        self.stop();
    }
}
