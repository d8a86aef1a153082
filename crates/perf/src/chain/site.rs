//! A chain as its load reaches it: a queue to each node, and the limit on waiting payments.

use std::sync::Arc;

use tokio::sync::{Semaphore, mpsc, oneshot};

use super::backlog::Backlog;
use super::{ChainId, ChainTarget, Payment, TxKey};
use crate::load::Fault;
use crate::workload::UNITS_EACH;

/// Upper limit on payments that wait for a request to one node. A further unit waits to enter the queue.
const QUEUE_MAX: usize = 10_000;
/// Number of generators whose payments have amounts of their own.
const GENERATORS_APART: u64 = 64;
/// Upper limit on concurrent batch requests to one node.
const UNDER_WAY_MAX: usize = 4;

/// A chain as its load reaches it. All workers share one.
pub struct ChainSite {
    lanes: Vec<Lane>,
    chains: Vec<ChainId>,
    accounts: usize,
    backlog: Option<Arc<Backlog>>,
    /// Several generators share the load.
    is_shared: bool,
}

/// The queue to one node.
struct Lane {
    target: Arc<dyn ChainTarget>,
    /// Collects payments for a batch. `None` if each payment is sent on its own.
    gathered: Option<mpsc::Sender<QueuedPayment>>,
}

/// A payment in a queue, and the channel for its answer.
struct QueuedPayment {
    payment: Payment,
    answer: oneshot::Sender<Result<TxKey, Fault>>,
}

impl ChainSite {
    /// Creates queues to all nodes, whose requests carry at most `batch` payments. Test accounts are numbered from 0.
    #[must_use]
    pub fn new(
        nodes: &[Arc<dyn ChainTarget>],
        chains: Vec<ChainId>,
        accounts: usize,
        batch: usize,
        backlog: Option<Arc<Backlog>>,
    ) -> Self {
        let lanes = nodes.iter().map(|target| Lane {
            target: Arc::clone(target),
            gathered: (batch > 1).then(|| {
                let (gather, gathered) = mpsc::channel(QUEUE_MAX);
                tokio::spawn(send_gathered(Arc::clone(target), gathered, batch));
                gather
            }),
        });
        Self {
            lanes: lanes.collect(),
            chains,
            accounts,
            backlog,
            is_shared: false,
        }
    }

    /// Returns the site of one of several generators.
    #[must_use]
    pub fn shared(mut self) -> Self {
        self.is_shared = true;
        self
    }

    /// Returns the amount of a unit's payment. Amounts differ, so that no two payments are one transaction, and they are small, so that
    /// no account runs out.
    #[must_use]
    pub fn amount(&self, unit: u64) -> u64 {
        let (generator, number) = (unit / UNITS_EACH, unit % UNITS_EACH);
        match self.is_shared {
            false => unit + 1,
            true => number * GENERATORS_APART + generator % GENERATORS_APART + 1,
        }
    }

    /// Returns the number of nodes.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.lanes.len()
    }

    /// Returns the chains, parent first.
    #[must_use]
    pub fn chains(&self) -> &[ChainId] {
        &self.chains
    }

    /// Returns the number of test accounts.
    #[must_use]
    pub fn accounts(&self) -> usize {
        self.accounts
    }

    /// Submits a payment to a node, given by its index, once the backlog permits it. Returns its key when the node has accepted it.
    ///
    /// # Errors
    /// Returns the node's refusal.
    pub async fn pay(&self, node: usize, payment: Payment) -> Result<TxKey, Fault> {
        let message = "the task that sends to the node ended during a unit";
        let gone = || Fault::new("lab.unit_panicked", message);
        let lane = self.lanes.get(node).ok_or_else(gone)?;
        if let Some(backlog) = &self.backlog {
            backlog.enter().await;
        }
        let Some(gathered) = &lane.gathered else {
            let mut answers = lane.target.submit(&[payment]).await;
            return answers.pop().ok_or_else(gone)?;
        };
        let (answer, answered) = oneshot::channel();
        let queued = gathered.send(QueuedPayment { payment, answer }).await;
        queued.map_err(|_| gone())?;
        answered.await.map_err(|_| gone())?
    }
}

/// Sends the payments that gathered while earlier requests were in flight. It never waits for a batch to fill.
async fn send_gathered(
    target: Arc<dyn ChainTarget>,
    mut gathered: mpsc::Receiver<QueuedPayment>,
    batch: usize,
) {
    let under_way = Arc::new(Semaphore::new(UNDER_WAY_MAX));
    loop {
        let Ok(place) = Arc::clone(&under_way).acquire_owned().await else {
            return;
        };
        let mut taken = Vec::new();
        if gathered.recv_many(&mut taken, batch).await == 0 {
            return;
        }
        let target = Arc::clone(&target);
        tokio::spawn(async move {
            let payments: Vec<Payment> = taken.iter().map(|waiting| waiting.payment).collect();
            let answers = target.submit(&payments).await;
            for (waiting, answer) in taken.into_iter().zip(answers) {
                // Ignore the error: a unit that no longer waits has been counted as unfinished.
                let _ = waiting.answer.send(answer);
            }
            drop(place);
        });
    }
}
