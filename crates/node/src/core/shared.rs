//! What the node's threads share.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use flow::FlowId;
use kernel::port::{FailureKind, StoreFailure};
use kernel::{Figures, Kernel, PeerFigures, Priority};
use ledger::{PartyId, Rejection, StateRef};

use super::clock::Clock;
use super::gate::Gate;
use super::mailbox::Mailbox;
use super::replies::Replies;
use super::start_error::PANICKED;
use super::view_feed::ViewFeed;
use crate::files::Desk;
use crate::http::{Followers, contain};
use crate::metrics::NodeMetrics;
use crate::users::{AuditLine, AuditLog};

/// Sends messages to peers; never blocks.
pub(super) type SendMessages = Box<dyn Fn(Vec<(PartyId, Priority, Vec<u8>)>) + Send + Sync>;

/// Ends the connection to a peer for a while.
pub(super) type CutOff = Box<dyn Fn(PartyId, Duration) + Send + Sync>;

/// How often the figures of peers are copied: there is one of each peer, and a round may be short.
const PEER_FIGURES_EVERY: Duration = Duration::from_millis(250);

/// The figures of peers, and when they were copied.
#[derive(Default)]
pub(super) struct PeerTable {
    copied: Option<Instant>,
    pub(super) peers: BTreeMap<PartyId, PeerFigures>,
}

/// See the module.
pub(super) struct Shared {
    pub(super) clock: Clock,
    pub(super) mailbox: Arc<Mailbox>,
    pub(super) gate: Gate,
    pub(super) replies: Replies,
    pub(super) followers: Arc<Followers>,
    pub(super) view: Arc<ViewFeed>,
    /// Files that move between nodes.
    pub(super) files: Arc<Desk>,
    pub(super) send: SendMessages,
    pub(super) cut_off: CutOff,
    pub(super) metrics: Arc<NodeMetrics>,
    pub(super) audit: Arc<AuditLog>,
    pub(super) committed: AtomicU64,
    pub(super) draining: AtomicBool,
    pub(super) drained: tokio::sync::watch::Sender<bool>,
    pub(super) failed: tokio::sync::watch::Sender<Option<Rejection>>,
    /// As the kernel left them after its last round.
    pub(super) figures: Mutex<Figures>,
    pub(super) peers: Mutex<PeerTable>,
}

impl Shared {
    /// A thread that decides or commits has panicked: what the kernel holds in memory is in doubt, so nothing more is written.
    pub(super) fn panicked(&self, panic: &(dyn Any + Send)) {
        self.fail(&StoreFailure {
            kind: FailureKind::Panic,
            code: PANICKED.code,
            message: format!("the node's ledger met a bug: {}", contain::text(panic)),
            hint: PANICKED.action,
        });
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

    /// A flow was started for a state, or could not be.
    pub(super) fn note_scheduled(
        &self,
        flow: FlowId,
        name: String,
        state: &StateRef,
        refusal: Option<&Rejection>,
    ) {
        let mut line = AuditLine::new(kernel::SCHEDULE_USER.into(), None, "flow.start");
        line.flow = Some(name);
        line.client_id = Some(kernel::schedule_client_id(state));
        line.flow_id = refusal.is_none().then(|| flow.to_string());
        self.audit.write(match refusal {
            Some(refusal) => line.refused(&refusal.code),
            None => line,
        });
    }

    /// The last flow has ended.
    pub(super) fn drained(&self) {
        self.drained.send_replace(true);
    }

    /// A round is decided. Whether the notary decided a batch in it.
    pub(super) fn note_round(&self, events: usize, took: Duration, kernel: &Kernel) -> bool {
        self.metrics.round_events.record(events as u64);
        self.metrics.round_time.record_time(took);
        let figures = kernel.figures();
        let mut last = self.figures.lock().unwrap_or_else(PoisonError::into_inner);
        let notary_decided = figures.notary_batches > last.notary_batches;
        *last = figures;
        drop(last);
        let mut table = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        if table
            .copied
            .is_none_or(|at| at.elapsed() >= PEER_FIGURES_EVERY)
        {
            table.peers = kernel.peer_figures();
            table.copied = Some(Instant::now());
        }
        notary_decided
    }

    /// What each peer costs, as it was a moment ago.
    pub(super) fn peer_figures(&self) -> BTreeMap<PartyId, PeerFigures> {
        let table = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        table.peers.clone()
    }

    /// A batch of the notary, if there was one, is durable; its round began then.
    pub(super) fn note_notary_batch(&self, began: Option<Instant>) {
        if let Some(began) = began {
            self.metrics.notary_batch_time.record_time(began.elapsed());
        }
    }

    pub(super) fn figures(&self) -> Figures {
        self.figures
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(super) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }
}
