//! Kill -9 of node A, node B and the notary in turn, at random moments, under load; restart; many rounds. Then every accepted
//! flow has completed exactly once, value is conserved, everybody agrees, nothing acknowledged is missing.

mod stage;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use api::{FlowStatus, StartFlow, Wait};
use client::{Client, Stream};
use perf::audit::{self, Acknowledged, Books};
use perf::scenario::cash;
use perf::topology::{Network, Who};
use stage::{A, B, DEADLINE, Seeded};
use tokio::sync::Mutex;

/// Crashes of each of the three.
const ROUNDS: usize = 8;
/// Starts outstanding at each bank.
const OUTSTANDING: usize = 24;
/// Each bank issues this much for the payments before the first crash, in so many coins.
const FUND: u64 = 1_000_000;
const COINS: u64 = 40;
/// The most that a payment moves.
const PAYMENT_MAX: u64 = 50;
/// How long the load runs undisturbed before a kill, at most.
const QUIET_MS_MAX: u64 = 700;
/// How long a killed process stays down, at most.
const DOWN_MS_MAX: u64 = 300;

/// What one accepted flow came to.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Done {
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
    own: &'static str,
    peer: String,
    next: AtomicU64,
    done: Mutex<BTreeMap<String, Done>>,
    stop: AtomicBool,
}

impl Bank {
    fn start(&self, number: u64) -> (StartFlow, Kind, u64) {
        let quantity = 1 + number % PAYMENT_MAX;
        let (start, kind) = match number % 5 {
            0 => (cash::issue(self.own, quantity), Kind::Issue),
            1 => (
                cash::issue_and_pay(self.own, quantity, &self.peer),
                Kind::IssueAndPay,
            ),
            _ => (
                cash::pay(
                    self.own,
                    None,
                    quantity,
                    &self.peer,
                    1 + (number % 3) as u32,
                ),
                Kind::Pay,
            ),
        };
        let start = start.expect("the arguments have a JSON form");
        (start.wait(Wait::Delivered), kind, quantity)
    }

    /// Runs flows one after another until told to stop; each is repeated, under its client id, until it has an outcome.
    async fn slot(self: Arc<Self>) {
        while !self.stop.load(Ordering::Relaxed) {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let (start, kind, quantity) = self.start(number);
            let id = format!("flow-{number}");
            let outcome = self.until_answered(&start.client_id(&id)).await;
            assert_eq!(
                outcome.status,
                FlowStatus::Delivered,
                "{} {id}: {outcome:?}",
                self.own
            );
            let done = Done {
                flow_id: outcome.flow_id,
                transactions: outcome.transactions,
                kind,
                quantity,
            };
            self.done.lock().await.insert(id, done);
        }
    }

    async fn until_answered(&self, start: &StartFlow) -> api::Outcome {
        loop {
            match self.stream.start(start).await {
                Ok(outcome)
                    if outcome.status.is_end() && outcome.status != FlowStatus::Completed =>
                {
                    return outcome;
                }
                // A node that stops may answer with what is so far.
                Ok(_) => {}
                Err(error) => {
                    let passing = error.is_outcome_unknown()
                        || error.retry_after_ms().is_some()
                        || matches!(
                            error.code(),
                            "client.not_connected" | "node.starting" | "node.draining"
                        );
                    assert!(passing, "{}: {error}", error.code());
                }
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

#[test]
fn every_accepted_flow_completes_exactly_once() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(run());
}

async fn run() {
    let mut seeded = Seeded::from_environment();
    let mut network = stage::network(&["A", "B"]);
    let banks = [bank(&network, A, "GBP", B), bank(&network, B, "EUR", A)];
    let mut issued: BTreeMap<String, u128> = BTreeMap::new();
    for bank in &banks {
        for coin in 0..COINS {
            let start = cash::issue(bank.own, FUND / COINS).expect("arguments");
            let id = format!("fund-{coin}");
            let outcome = bank
                .until_answered(&start.wait(Wait::Delivered).client_id(&id))
                .await;
            let done = Done {
                flow_id: outcome.flow_id,
                transactions: outcome.transactions,
                kind: Kind::Issue,
                quantity: FUND / COINS,
            };
            bank.done.lock().await.insert(id, done);
        }
    }

    let slots: Vec<_> = banks
        .iter()
        .flat_map(|bank| (0..OUTSTANDING).map(|_| tokio::spawn(Arc::clone(bank).slot())))
        .collect();
    for round in 0..ROUNDS {
        for who in [A, B, Who::Notary] {
            tokio::time::sleep(seeded.moment(QUIET_MS_MAX)).await;
            network.kill(who);
            tokio::time::sleep(seeded.moment(DOWN_MS_MAX)).await;
            network = tokio::task::spawn_blocking(move || {
                network
                    .start(who)
                    .unwrap_or_else(|error| panic!("round {round}, {who:?}: {error}"));
                network
            })
            .await
            .expect("it comes back");
        }
    }
    for bank in &banks {
        bank.stop.store(true, Ordering::Relaxed);
    }
    let all = async {
        for slot in slots {
            slot.await.expect("every flow ends well");
        }
    };
    tokio::time::timeout(DEADLINE, all)
        .await
        .expect("every accepted flow completes once all are back");

    let mut books = Books {
        nothing_else_ran: true,
        ..Books::default()
    };
    for (position, bank) in banks.iter().enumerate() {
        let done = bank.done.lock().await;
        println!("{}: {} flows", network.name(bank.who), done.len());
        assert!(done.len() as u64 > COINS, "no load, no test");
        for (id, flow) in done.iter() {
            note(&mut books, &mut issued, bank.own, position, flow);
            // Asked again, the same client id gives the same flow: it ran once.
            let (start, ..) = bank.start(0);
            let again = bank.until_answered(&start.client_id(id)).await;
            assert_eq!(again.flow_id, flow.flow_id, "{id}");
            assert_eq!(again.transactions, flow.transactions, "{id}");
        }
    }
    books.in_circulation = issued;
    for bank in &banks {
        let name = network.name(bank.who);
        books.nodes.push(
            audit::node_books(name, &bank.client)
                .await
                .expect("readable"),
        );
    }
    let notary = stage::client(&network, Who::Notary);
    books.consumed = audit::consumed("notary", &notary).await.expect("readable");
    for (position, bank) in banks.iter().enumerate() {
        let ids = books.nodes[position].ledger.clone();
        let name = network.name(bank.who);
        books.spends.extend(
            audit::spends(name, &bank.client, &ids)
                .await
                .expect("readable"),
        );
    }
    let verdict = audit::judge(&books);
    assert!(verdict.is_clean(), "{verdict}");
    balances_are_what_was_paid(&banks).await;
}

fn bank(network: &Network, who: Who, own: &'static str, peer: Who) -> Arc<Bank> {
    let client = stage::client(network, who);
    Arc::new(Bank {
        who,
        stream: client.stream(),
        client,
        own,
        peer: network.name(peer).to_owned(),
        next: AtomicU64::new(0),
        done: Mutex::new(BTreeMap::new()),
        stop: AtomicBool::new(false),
    })
}

/// What one flow adds to what the books must show.
fn note(
    books: &mut Books,
    issued: &mut BTreeMap<String, u128>,
    currency: &str,
    position: usize,
    flow: &Done,
) {
    let expected = if flow.kind == Kind::IssueAndPay { 2 } else { 1 };
    assert_eq!(flow.transactions.len(), expected, "{flow:?}");
    if flow.kind != Kind::Pay {
        *issued.entry(currency.to_owned()).or_default() += u128::from(flow.quantity);
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

/// Each bank holds of the other's currency exactly what the other's flows paid it.
async fn balances_are_what_was_paid(banks: &[Arc<Bank>; 2]) {
    for (payer, payee) in [(&banks[0], &banks[1]), (&banks[1], &banks[0])] {
        let paid: u128 = payer
            .done
            .lock()
            .await
            .values()
            .filter(|flow| flow.kind != Kind::Issue)
            .map(|flow| u128::from(flow.quantity))
            .sum();
        let held = stage::holds(&payee.client, payer.own)
            .await
            .expect("readable");
        assert_eq!(held, paid, "{} at the other bank", payer.own);
    }
}
