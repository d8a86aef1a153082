//! The load: payments on all chains, from all test accounts, to all nodes.

use std::sync::Arc;
use std::time::Duration;

use primitives::whole_ms;
use tokio::sync::{Semaphore, mpsc, oneshot};

use super::backlog::Backlog;
use super::books::{Accepted, Books};
use super::{ChainId, ChainTarget, Payment, TxKey};
use crate::load::Fault;
use crate::load::engine::{Driven, Ended};

/// Upper limit on payments that wait for a request to one node. A further unit waits to enter the queue.
const QUEUE_MAX: usize = 10_000;
/// Upper limit on concurrent batch requests to one node.
const UNDER_WAY_MAX: usize = 4;

/// Units of load: each is one payment, completed when a node has accepted it.
pub struct Payments {
    lanes: Vec<Lane>,
    chains: Vec<ChainId>,
    accounts: usize,
    books: Arc<Books>,
    backlog: Option<Arc<Backlog>>,
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

impl Payments {
    /// Creates queues to all targets; a request carries at most `batch` payments. Requires a target, a chain and two
    /// accounts.
    #[must_use]
    pub fn new(
        targets: &[Arc<dyn ChainTarget>],
        chains: Vec<ChainId>,
        accounts: usize,
        batch: usize,
        books: Arc<Books>,
    ) -> Self {
        let lanes = targets.iter().map(|target| Lane {
            target: Arc::clone(target),
            gathered: (batch > 1).then(|| {
                let (gather, gathered) = mpsc::channel(QUEUE_MAX);
                tokio::spawn(lane(Arc::clone(target), gathered, batch));
                gather
            }),
        });
        Self {
            lanes: lanes.collect(),
            chains,
            accounts,
            books,
            backlog: None,
        }
    }

    /// Adds a limit on payments that wait for a block.
    #[must_use]
    pub fn held_by(mut self, backlog: Option<Arc<Backlog>>) -> Self {
        self.backlog = backlog;
        self
    }

    /// Chooses a unit's payment and its node: nodes in turn, then accounts, then chains. The amount is the counter. Without any chain
    /// it is a payment of the parent chain.
    fn choose(&self, unit: u64) -> (usize, Payment) {
        let (lanes, accounts) = (self.lanes.len().max(1) as u64, self.accounts.max(2) as u64);
        let (node, round) = (unit % lanes, unit / lanes);
        let (from, round) = (round % accounts, round / accounts);
        let (chain, round) = (
            round % self.chains.len().max(1) as u64,
            round / self.chains.len().max(1) as u64,
        );
        // Never to the same account, and to each of the others in turn.
        let to = (from + 1 + round % (accounts - 1)) % accounts;
        let payment = Payment {
            chain: self
                .chains
                .get(chain as usize)
                .copied()
                .unwrap_or(ChainId::PARENT),
            from: from as usize,
            to: to as usize,
            amount: unit + 1,
        };
        (node as usize, payment)
    }

    async fn pay(&self, unit: u64, due: Option<Duration>) -> Result<(), Fault> {
        let (node, payment) = self.choose(unit);
        let gone = || Fault {
            code: "lab.unit_panicked".to_owned(),
            message: "the task that sends to the node ended during a unit".to_owned(),
        };
        let lane = self.lanes.get(node).ok_or_else(gone)?;
        if let Some(backlog) = &self.backlog {
            backlog.enter().await;
        }
        let key = match &lane.gathered {
            None => lane
                .target
                .submit(&[payment])
                .await
                .pop()
                .ok_or_else(gone)??,
            Some(gathered) => {
                let (answer, answered) = oneshot::channel();
                gathered
                    .send(QueuedPayment { payment, answer })
                    .await
                    .map_err(|_| gone())?;
                answered.await.map_err(|_| gone())??
            }
        };
        self.books.accept(Accepted {
            key,
            due_ms: due.map_or(0, whole_ms),
            node: u32::try_from(node).expect("the index of a lane, few"),
        });
        Ok(())
    }
}

impl Driven for Payments {
    async fn run(&self, _slot: u32, unit: u64) -> Ended {
        ended(self.pay(unit, None).await)
    }

    async fn run_due(&self, _slot: u32, unit: u64, due: Duration) -> Ended {
        ended(self.pay(unit, Some(due)).await)
    }
}

fn ended(outcome: Result<(), Fault>) -> Ended {
    Ended {
        work: 0,
        outcome,
        retries: 0,
    }
}

/// Sends the payments that gathered while earlier requests were in flight. It never waits for a batch to fill.
async fn lane(
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::nxt::fake::{Behaviour, Fake};
    use crate::chain::nxt::{NxtTarget, Options, Signing};
    use std::collections::BTreeSet;

    async fn payments(
        fake: &Fake,
        behaviour: &Behaviour,
        batch: usize,
        books: &Arc<Books>,
    ) -> Payments {
        let mut targets: Vec<Arc<dyn ChainTarget>> = Vec::new();
        for (at, url) in fake.urls().iter().enumerate() {
            let options = Options {
                url: url.clone(),
                name: format!("server-{}", at + 1),
                chains: behaviour.chains.clone(),
                passphrases: behaviour.passphrases.clone(),
                forgers: Vec::new(),
                signing: Signing::Passphrase,
                deadline_minutes: 60,
                patience: Duration::from_secs(20),
            };
            targets.push(Arc::new(
                NxtTarget::connect(options).await.expect("the fake answers"),
            ));
        }
        let chains = behaviour.chains.iter().map(|chain| chain.id).collect();
        Payments::new(
            &targets,
            chains,
            behaviour.passphrases.len(),
            batch,
            Arc::clone(books),
        )
    }

    #[tokio::test]
    async fn every_account_pays_on_every_chain_at_every_node_and_amounts_differ() {
        let behaviour = Behaviour::default();
        let fake = Fake::start(2, behaviour.clone()).await.expect("ports");
        let payments = payments(&fake, &behaviour, 1, &Arc::default()).await;
        let chosen: Vec<(usize, Payment)> = (0..2 * 10 * 3 * 9)
            .map(|unit| payments.choose(unit))
            .collect();
        assert!(chosen.iter().all(|(_, payment)| payment.from != payment.to));
        let ways: BTreeSet<_> = chosen
            .iter()
            .map(|(node, payment)| (*node, payment.from, payment.to, payment.chain))
            .collect();
        assert_eq!(ways.len(), chosen.len(), "each way once");
        let amounts: BTreeSet<u64> = chosen.iter().map(|(_, payment)| payment.amount).collect();
        assert_eq!(amounts.len(), chosen.len());
    }

    #[tokio::test]
    async fn batches_carry_everything_once_and_each_unit_gets_its_own_answer() {
        for batch in [1, 50] {
            let behaviour = Behaviour {
                refuse_every: 10,
                ..Behaviour::default()
            };
            let fake = Fake::start(2, behaviour.clone()).await.expect("ports");
            let books = Arc::new(Books::default());
            let payments = Arc::new(payments(&fake, &behaviour, batch, &books).await);
            let units = (0..200).map(|unit| {
                let payments = Arc::clone(&payments);
                tokio::spawn(async move {
                    payments
                        .run_due(0, unit, Duration::from_millis(unit))
                        .await
                        .outcome
                })
            });
            let units: Vec<_> = units.collect();
            let mut refused = 0;
            for unit in units {
                refused += usize::from(unit.await.expect("no panic").is_err());
            }
            let (kept, every) = books.kept();
            assert_eq!((refused, kept.len(), every), (20, 180, 1), "batch {batch}");
            let keys: BTreeSet<TxKey> = kept.iter().map(|accepted| accepted.key).collect();
            assert_eq!(keys.len(), 180);
            assert!(
                kept.iter()
                    .any(|accepted| accepted.due_ms > 0 && accepted.node == 1)
            );
        }
    }
}
