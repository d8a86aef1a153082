//! State that the node's threads share.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use flow::FlowId;
use kernel::port::StoreFailure;
use kernel::{Figures, HistoryLookUp, Kernel, PeerFigures, Priority, SignatureBatch};
use ledger::{PartyId, Rejection, StateRef};
use notary::UniquenessCheck;

use super::clock::Clock;
use super::gate::Gate;
use super::messages::KernelHandle;
use super::questions::Questions;
use super::replies::Replies;
use super::view_feed::ViewFeed;
use crate::files::TransferHandle;
use crate::http::Followers;
use crate::metrics::NodeMetrics;
use crate::users::{AuditLine, AuditLog};

/// Sends messages to peers. Never blocks.
pub(super) type SendMessages = Box<dyn Fn(Vec<(PartyId, Priority, Vec<u8>)>) + Send + Sync>;

/// Closes the connection to a peer for some time.
pub(super) type CutOff = Box<dyn Fn(PartyId, Duration) + Send + Sync>;

/// Minimum time between two copies of the peers' figures. A copy takes time for each peer, and a round may be short.
const PEER_FIGURES_INTERVAL: Duration = Duration::from_millis(250);

/// The figures of peers, and the time of the copy.
#[derive(Default)]
pub(super) struct PeerTable {
    copied: Option<Instant>,
    pub(super) peers: BTreeMap<PartyId, PeerFigures>,
}

/// State that the kernel's thread, the commit thread, the view's thread and the API share.
pub(super) struct NodeState {
    pub(super) clock: Clock,
    pub(super) kernel: KernelHandle,
    pub(super) gate: Gate,
    pub(super) replies: Replies,
    pub(super) followers: Arc<Followers>,
    pub(super) view: Arc<ViewFeed>,
    /// The questions of this notary to the store.
    pub(super) uniqueness: Questions<UniquenessCheck>,
    pub(super) put_off: Questions<SignatureBatch>,
    /// The questions for the oldest rows of the flow history.
    pub(super) history: Questions<HistoryLookUp>,
    /// File transfers between nodes.
    pub(super) files: Arc<TransferHandle>,
    pub(super) send: SendMessages,
    pub(super) cut_off: CutOff,
    pub(super) metrics: Arc<NodeMetrics>,
    pub(super) audit: Arc<AuditLog>,
    pub(super) draining: AtomicBool,
    pub(super) drained: tokio::sync::watch::Sender<bool>,
    /// The kernel's figures after its last round.
    pub(super) figures: Mutex<Figures>,
    pub(super) peers: Mutex<PeerTable>,
}

/// Returns the rejection of all requests after a failure.
pub(super) fn rejection_of(failure: &StoreFailure) -> Rejection {
    let code = api::codes::STORE_FAILED;
    let text = format!("{} ({})", failure.message, failure.code);
    Rejection::new(code.code, text, code.action)
}

impl NodeState {
    /// Audits the start of a flow that a state had scheduled, or the refusal of the start.
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

    /// Reports that the last flow has ended.
    pub(super) fn drained(&self) {
        self.drained.send_replace(true);
    }

    /// Copies the kernel's figures after a round. Returns whether the notary decided a batch in the round.
    pub(super) fn note_figures(&self, kernel: &Kernel) -> bool {
        let figures = kernel.figures();
        let mut last = self.figures.lock().unwrap_or_else(PoisonError::into_inner);
        let notary_decided = figures.notary_batches > last.notary_batches;
        *last = figures;
        drop(last);
        let mut table = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        if table
            .copied
            .is_none_or(|at| at.elapsed() >= PEER_FIGURES_INTERVAL)
        {
            table.peers = kernel.peer_figures();
            table.copied = Some(Instant::now());
        }
        notary_decided
    }

    /// Returns the cost of each peer at the last copy.
    pub(super) fn peer_figures(&self) -> BTreeMap<PartyId, PeerFigures> {
        let table = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        table.peers.clone()
    }

    /// Records the time of a durable batch of the notary, from its question to the store, if there was a batch.
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
