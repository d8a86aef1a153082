//! The interface between a deciding core, the runtime, and the shell that performs the core's actions.

use std::time::Instant;

use primitives::ErrorInfo;
use primitives::storage::{StoreFailure, TableSet, WriteBatch};

/// The messages that a core takes.
pub trait Messages: 'static {
    /// An event that the core handles.
    type Event: Send + 'static;
    /// A question about the state of the core in memory. It is answered between two rounds and changes nothing.
    type Query: Send + 'static;

    /// Returns the number of bytes that a peer has sent for this event. They count towards the bound of the mailbox.
    fn peer_bytes(event: &Self::Event) -> usize;
}

/// An event of a core.
pub type EventOf<C> = <<C as Core>::Messages as Messages>::Event;
/// A query of a core.
pub type QueryOf<C> = <<C as Core>::Messages as Messages>::Query;

/// A deciding core. The runtime calls all its methods on the core's own thread.
///
/// A round calls [`Core::begin_round`], then [`Core::handle`] and [`Core::committed`] for each message until [`Core::is_full`], then
/// [`Core::end_round`], [`Core::take_output`], and [`Core::answer`] for each query.
pub trait Core: Sized + Send + 'static {
    /// The tables of the core's store.
    type Table: TableSet;
    /// The messages that the core takes.
    type Messages: Messages;
    /// The actions of one round, which the shell performs.
    type Actions: Send + 'static;

    /// The name of the core's thread.
    const THREAD: &'static str;
    /// The subject of the core, for messages: `the node's SUBJECT met a bug`.
    const SUBJECT: &'static str;
    /// The error code and the hint of the failure that follows a panic.
    const PANICKED: ErrorInfo;

    /// Begins a round.
    fn begin_round(&mut self);

    /// Handles an event.
    ///
    /// # Errors
    /// The store could not be read. The node must stop.
    fn handle(&mut self, event: EventOf<Self>) -> Result<(), StoreFailure>;

    /// Notes that the commit with this number is durable. Commits are reported in order.
    ///
    /// # Errors
    /// The store could not be read. The node must stop.
    fn committed(&mut self, number: u64) -> Result<(), StoreFailure>;

    /// Returns whether the round should take no further message. The messages that are left come in the next one.
    fn is_full(&self) -> bool {
        false
    }

    /// Ends a round. Returns the number of events that were decided, or `None` if there was nothing to decide.
    ///
    /// # Errors
    /// The store could not be read. The node must stop.
    fn end_round(&mut self) -> Result<Option<u64>, StoreFailure>;

    /// Takes the output of the round that began at this instant.
    fn take_output(&mut self, began: Instant) -> Output<Self>;

    /// Answers a query.
    fn answer(&mut self, query: QueryOf<Self>);

    /// Returns the time at which the next round is due if no event arrives before.
    fn next_deadline(&self) -> Option<Instant>;
}

/// The output of a round.
pub struct Output<C: Core> {
    /// The commit, and the actions that depend on it.
    pub commit: Option<Commit<C>>,
    /// Actions that depend on no commit. They are performed after the commit was submitted.
    pub at_once: Option<C::Actions>,
}

impl<C: Core> Default for Output<C> {
    fn default() -> Self {
        Self {
            commit: None,
            at_once: None,
        }
    }
}

/// Rows that become durable together, and the actions to perform afterwards.
pub struct Commit<C: Core> {
    /// The number that is passed to [`Core::committed`]. The runtime does not interpret it.
    pub number: u64,
    /// The rows. An empty batch completes after the earlier ones, without a sync.
    pub batch: WriteBatch<C::Table>,
    /// Actions to perform when the batch and all earlier ones are durable.
    pub actions: C::Actions,
}

/// The part of a node that performs a core's actions. The core's thread and the commit thread share it.
pub trait Shell<C: Core>: Send + Sync + 'static {
    /// Performs actions. It must not block: the commit thread waits for it.
    fn perform(&self, actions: C::Actions);

    /// Answers all callers that wait for the core: it has stopped because of this failure. Called once.
    fn failed(&self, failure: &StoreFailure);

    /// Called after the core has taken the waiting messages, so that the mailbox may have room again. Also called when
    /// the core has stopped.
    fn taken(&self) {}
}
