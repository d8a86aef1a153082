//! Two banks that issue to themselves and pay each other under client ids, across crashes of their processes. The final check
//! expects every accepted flow exactly once, conserved value, and agreement of all nodes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::stage::cash;
use api::{FlowStatus, Outcome, StartFlow, Wait};
use client::{Client, Stream};
use perf::audit::{self, Acknowledged, Books, Sample};
use perf::topology::{Network, Who};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

use super::{A, B, DEADLINE};

/// Quantity that each bank issues for the payments before the load, and the number of coins.
const FUND: u64 = 1_000_000;
const COINS: u64 = 40;
/// Maximum quantity of a payment.
const PAYMENT_MAX: u64 = 50;
/// How long a refused start rests.
const REST: Duration = Duration::from_millis(20);

/// The result of one accepted flow.
#[derive(Clone, Debug)]
struct Done {
    start: StartFlow,
    flow_id: String,
    transactions: Vec<String>,
    kind: Kind,
    quantity: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Issue,
    Pay,
    IssueAndPay,
}

/// One bank's load: flows with client ids, each asked for until it is answered.
struct Bank {
    who: Who,
    stream: Stream,
    client: Client,
    currency: &'static str,
    peer: String,
    next: AtomicU64,
    done: Mutex<BTreeMap<String, Done>>,
    stop: AtomicBool,
    /// Outcomes that list other transactions than the flow's own result names.
    lists_wrong: AtomicU64,
}

/// Both banks under load.
pub struct Banks {
    banks: [Arc<Bank>; 2],
    slots: Vec<JoinHandle<()>>,
}

impl Banks {
    /// Gives each bank coins of its own, then keeps `outstanding` flows going at each.
    pub async fn open(network: &Network, outstanding: usize) -> Self {
        let clients = [A, B].map(|who| super::client(network, who));
        Self::open_at(network, clients, outstanding).await
    }

    /// Does the same through these clients.
    pub async fn open_at(network: &Network, clients: [Client; 2], outstanding: usize) -> Self {
        let [a, b] = clients;
        let banks = [
            Bank::new(network, (A, a), "GBP", B),
            Bank::new(network, (B, b), "EUR", A),
        ];
        for bank in &banks {
            bank.fund().await;
        }
        let slots = banks
            .iter()
            .flat_map(|bank| (0..outstanding).map(|_| tokio::spawn(Arc::clone(bank).slot())))
            .collect();
        Self { banks, slots }
    }

    /// Flows that have been answered so far.
    pub async fn answered(&self) -> usize {
        let mut count = 0;
        for bank in &self.banks {
            count += bank.done.lock().await.len();
        }
        count
    }

    /// Flows of one bank that have been answered so far.
    pub async fn answered_by(&self, bank: usize) -> usize {
        self.banks[bank].done.lock().await.len()
    }

    /// Stops starting flows, waits until every accepted flow has completed, and checks the books. Returns the number of outcomes
    /// that list other transactions than their flow's own result.
    pub async fn close(self, network: &Network) -> u64 {
        for bank in &self.banks {
            bank.stop.store(true, Ordering::Relaxed);
        }
        let slots = self.slots;
        let all = async {
            for slot in slots {
                slot.await.expect("every flow ends well");
            }
        };
        tokio::time::timeout(DEADLINE, all)
            .await
            .expect("every accepted flow completes once all processes are back");
        reckon(&self.banks, network).await
    }
}

impl Bank {
    fn new(
        network: &Network,
        (who, client): (Who, Client),
        currency: &'static str,
        peer: Who,
    ) -> Arc<Self> {
        Arc::new(Self {
            who,
            stream: client.stream(),
            client,
            currency,
            peer: network.name(peer).to_owned(),
            next: AtomicU64::new(0),
            done: Mutex::new(BTreeMap::new()),
            stop: AtomicBool::new(false),
            lists_wrong: AtomicU64::new(0),
        })
    }

    async fn fund(&self) {
        for coin in 0..COINS {
            let quantity = FUND / COINS;
            let start = cash::issue(self.currency, quantity).expect("arguments");
            self.run(&format!("fund-{coin}"), start, Kind::Issue, quantity)
                .await;
        }
    }

    /// Runs flows one after another until told to stop.
    async fn slot(self: Arc<Self>) {
        while !self.stop.load(Ordering::Relaxed) {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let quantity = 1 + number % PAYMENT_MAX;
            let states = 1 + u32::try_from(number % 3).expect("small");
            let (start, kind) = match number % 5 {
                0 => (cash::issue(self.currency, quantity), Kind::Issue),
                1 => (
                    cash::issue_and_pay(self.currency, quantity, &self.peer),
                    Kind::IssueAndPay,
                ),
                _ => (
                    cash::pay(self.currency, None, quantity, &self.peer, states),
                    Kind::Pay,
                ),
            };
            let start = start.expect("arguments");
            self.run(&format!("flow-{number}"), start, kind, quantity)
                .await;
        }
    }

    async fn run(&self, id: &str, start: StartFlow, kind: Kind, quantity: u64) {
        let start = start.wait(Wait::Delivered).client_id(id);
        let outcome = self.until_answered(&start).await;
        assert_eq!(
            outcome.status,
            FlowStatus::Delivered,
            "{} {id}: {outcome:?}",
            self.currency
        );
        let transactions = told(&outcome);
        if transactions != outcome.transactions {
            self.lists_wrong.fetch_add(1, Ordering::Relaxed);
        }
        let done = Done {
            start,
            flow_id: outcome.flow_id,
            transactions,
            kind,
            quantity,
        };
        self.done.lock().await.insert(id.to_owned(), done);
    }

    /// Repeats a start, under its client id, until it has an outcome.
    async fn until_answered(&self, start: &StartFlow) -> Outcome {
        loop {
            match self
                .stream
                .start(start)
                .await
                .or_else(client::ClientError::into_outcome)
            {
                Ok(outcome)
                    if outcome.status.is_end() && outcome.status != FlowStatus::Finalised =>
                {
                    return outcome;
                }
                // A stopping node may answer with the flow's state so far.
                Ok(_) => {}
                Err(error) => {
                    let passing = error.is_outcome_unknown()
                        || error.retry_after_ms().is_some()
                        || matches!(
                            error.code(),
                            "client.not_connected"
                                | "node.starting"
                                | "node.draining"
                                | "node.store_failed"
                        );
                    assert!(passing, "{}: {error}", error.code());
                }
            }
            tokio::time::sleep(REST).await;
        }
    }
}

/// The transactions that a cash flow's result names.
fn told(outcome: &Outcome) -> Vec<String> {
    let result = outcome.result.as_ref().expect("a result");
    let fields: BTreeMap<String, String> =
        serde_json::from_str(result.get()).expect("names and ids");
    ["transaction", "issue", "payment"]
        .into_iter()
        .filter_map(|name| fields.get(name).cloned())
        .collect()
}

async fn reckon(banks: &[Arc<Bank>; 2], network: &Network) -> u64 {
    let mut books = Books {
        whole: true,
        nothing_else_ran: true,
        ..Books::default()
    };
    for (position, bank) in banks.iter().enumerate() {
        let done = bank.done.lock().await;
        println!("{}: {} flows", network.name(bank.who), done.len());
        assert!(done.len() as u64 > COINS, "no load, no test");
        for (id, flow) in done.iter() {
            let token = audit::token_label(bank.currency, network.name(bank.who));
            note(&mut books, &token, position, flow);
            // Asked again, the same client id gives the same flow: it ran once.
            let again = bank.until_answered(&flow.start).await;
            assert_eq!(again.flow_id, flow.flow_id, "{id}");
            assert_eq!(told(&again), flow.transactions, "{id}");
        }
    }
    for bank in banks {
        let name = network.name(bank.who);
        let node = audit::node_books(name, &bank.client, Sample::ALL, None)
            .await
            .expect("readable");
        let spends = audit::spends(name, &bank.client, &node.ledger).await;
        books.spends.extend(spends.expect("readable"));
        books.nodes.push(node);
    }
    let notary = super::client(network, Who::Notary);
    let consumed = audit::consumed("the notary", &notary, Sample::ALL).await;
    books.consumed = Some(consumed.expect("readable").0);
    let verdict = audit::judge(&books);
    assert!(verdict.is_clean(), "{verdict}");
    println!("{verdict}");
    each_holds_what_it_was_paid(banks).await;
    let counts = banks
        .iter()
        .map(|bank| bank.lists_wrong.load(Ordering::Relaxed));
    counts.sum()
}

/// Adds the effect of one flow to the expected books.
fn note(books: &mut Books, token: &str, position: usize, flow: &Done) {
    let expected = if flow.kind == Kind::IssueAndPay { 2 } else { 1 };
    assert_eq!(flow.transactions.len(), expected, "{flow:?}");
    if flow.kind != Kind::Pay {
        let sum = books.in_circulation.entry(token.to_owned()).or_default();
        *sum += u128::from(flow.quantity);
    }
    for (at, id) in flow.transactions.iter().enumerate() {
        let concerns_both = flow.kind != Kind::Issue && at + 1 == flow.transactions.len();
        books.acknowledged.push(Acknowledged {
            transactions: vec![id.parse().expect("an id")],
            participants: if concerns_both {
                vec![0, 1]
            } else {
                vec![position]
            },
        });
    }
}

/// Checks that each bank holds exactly as much of the other's currency as the other's flows paid it.
async fn each_holds_what_it_was_paid(banks: &[Arc<Bank>; 2]) {
    for (payer, payee) in [(&banks[0], &banks[1]), (&banks[1], &banks[0])] {
        let done = payer.done.lock().await;
        let paid: u128 = done
            .values()
            .filter(|flow| flow.kind != Kind::Issue)
            .map(|flow| u128::from(flow.quantity))
            .sum();
        let held = super::holds(&payee.client, payer.currency).await;
        assert_eq!(
            held.expect("readable"),
            paid,
            "{} at the other",
            payer.currency
        );
    }
}
