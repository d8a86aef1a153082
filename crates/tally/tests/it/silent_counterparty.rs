//! Real processes: a counterparty stands still (SIGSTOP) in the middle of an exchange. The honest side waits until the transaction
//! can no longer be notarised, ends with a code, and spends the same coins. The counterparty goes on later and changes nothing.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use api::events::{END, FAILED};
use api::{FlowStatus, Outcome, Problem, StartFlow, Wait};
use client::Client;
use perf::topology::{Network, Who};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::stage::command::send;
use crate::stage::{self, A, B, C, cash};

const SILENT: &str = "flow.counterparty_silent";
/// Time from the bid to its end: long enough for the sale to be proposed on a busy machine.
const BID_MS: u64 = 20_000;
/// Time, after the end of a window, during which the notary may still sign.
const ALLOWANCE_MS: u64 = 60_000;
/// Longest wait for the end of the honest side's flow.
const PATIENCE: Duration = Duration::from_secs(400);

fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("now");
    u64::try_from(now.as_millis()).expect("now")
}

/// Runs a flow until it is delivered; its result.
async fn run(client: &Client, flow: &str, arguments: &Value) -> Value {
    let start = StartFlow::new(flow, arguments).expect("JSON");
    let outcome = stage::completes(client, start, Wait::Delivered).await;
    let result = outcome.result.expect("a result");
    serde_json::from_str(result.get()).expect("JSON")
}

/// Starts a flow that waits for the notary, which is down. Returns its id when everything is signed.
async fn started(client: &Client, flow: &str, arguments: &Value) -> String {
    let start = StartFlow::new(flow, arguments).expect("JSON");
    let taken = client.start(&start.wait(Wait::None)).await.expect("taken");
    stage::eventually("everything is signed", async || {
        let outcome = client.flow(&taken.flow_id, Wait::None, None).await.ok()?;
        assert_eq!(outcome.status, FlowStatus::Running, "{outcome:?}");
        (outcome.step.as_deref() == Some("notarising")).then_some(())
    })
    .await;
    taken.flow_id
}

/// The only live flow of a node.
async fn live(client: &Client) -> String {
    let mut flows = client.flows(None, 10).await.expect("readable").flows;
    assert_eq!(flows.len(), 1, "{flows:?}");
    flows.remove(0).flow_id
}

/// Follows a flow of a client to its end.
async fn end_of(client: &Client, flow: &str) -> Outcome {
    let events = client.follow_flow(flow, Wait::Finalised).await;
    let mut events = events.expect("events");
    loop {
        let event = events.next().await.expect("readable").expect("an end");
        match event.kind.as_str() {
            END => return event.read().expect("an outcome"),
            FAILED => {
                let problem: Box<Problem> = event.read().expect("a problem");
                return problem.into_outcome().expect("a flow");
            }
            _ => {}
        }
    }
}

/// The number of states that flows of a node hold.
async fn locked(client: &Client) -> usize {
    let query = serde_json::from_value(json!({ "where": { "locked": true } })).expect("a query");
    client
        .query_vault(&query)
        .await
        .expect("readable")
        .states
        .len()
}

/// A bank that has proposed or signed an exchange, whose counterparty B now stands still.
struct Scene {
    network: Network,
    /// The flow of B that waits for the notary.
    flow: String,
}

impl Scene {
    fn stop_b(&mut self) {
        send(self.network.pid(B).expect("it runs"), Signal::STOP);
        self.network.start(Who::Notary).expect("it starts");
    }

    /// Waits for the end of the honest bank's flow, spends its cash, and lets B go on.
    async fn check_end(&self, who: Who, not_before_ms: u64, cash_held: u64) {
        let honest = &stage::client(&self.network, who);
        let a = self.network.name(A).to_owned();
        let issued_by = json!(a);
        let flow = live(honest).await;
        assert!(locked(honest).await > 0, "the exchange holds its states");
        let end = Instant::now() + PATIENCE;
        while locked(honest).await > 0 {
            assert!(Instant::now() < end, "flow {flow} never ends");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        assert!(
            now_ms() >= not_before_ms,
            "freed while it could be notarised"
        );
        // A responder has no client: its code is in the log.
        let log = std::fs::read_to_string(self.network.log(who)).expect("readable");
        let told = log.lines().find(|line| line.contains(SILENT));
        assert!(told.is_some_and(|line| line.contains(&flow)), "{told:?}");
        let payment = json!({
            "currency": "GBP", "issuer": issued_by,
            "payments": [{ "to": a, "quantity": cash_held }],
        });
        run(honest, "cash.pay", &payment).await;

        send(self.network.pid(B).expect("it runs"), Signal::CONT);
        let b = stage::client(&self.network, B);
        let late = end_of(&b, &self.flow).await;
        assert_eq!(late.status, FlowStatus::Failed, "{late:?}");
        assert_eq!(stage::holds(honest, "GBP").await.expect("readable"), 0);
    }
}

#[tokio::test]
async fn a_buyer_whose_seller_goes_silent_spends_its_cash_elsewhere() {
    let mut network = stage::network(&["A", "B", "C"]);
    let [a, b, c] = [A, B, C].map(|who| stage::client(&network, who));
    let [name_a, name_b, name_c] = [A, B, C].map(|who| network.name(who).to_owned());
    let issue = cash::issue("GBP", 200).expect("arguments");
    stage::completes(&a, issue, Wait::Delivered).await;
    let pay = cash::pay("GBP", None, 200, &name_c, 1).expect("arguments");
    stage::completes(&a, pay, Wait::Delivered).await;
    let token = json!({ "currency": "GBP", "issuer": name_a });
    let maturity = now_ms() + 3_600_000;
    let paper = json!({ "face": 100, "token": token, "maturity": maturity, "recipient": name_b });
    let paper = run(&a, "paper.issue", &paper).await;
    let until = now_ms() + BID_MS;
    let bid = json!({
        "seller": name_b, "token": token, "price_max": 95, "until": until,
        "paper": { "issuer": name_a, "token": token, "face": 100, "maturity": maturity },
    });
    let bid = run(&c, "trade.bid", &bid).await;

    network.stop(Who::Notary).expect("it stops");
    let sale = json!({ "asset": paper["state"], "bid": bid["state"], "price": 90 });
    let flow = started(&b, "trade.sell", &sale).await;
    let mut scene = Scene { network, flow };
    scene.stop_b();
    scene.check_end(C, until + ALLOWANCE_MS, 200).await;
    assert_eq!(stage::holds(&a, "GBP").await.expect("readable"), 200);
}

#[tokio::test]
#[ignore = "takes three minutes, a swap's window and the notary's delay: make slow"]
async fn a_party_that_signed_a_swap_ends_after_its_window() {
    let mut network = stage::network(&["A", "B", "C"]);
    let [a, b, c] = [A, B, C].map(|who| stage::client(&network, who));
    let [name_a, name_b, name_c] = [A, B, C].map(|who| network.name(who).to_owned());
    let issue = json!({ "currency": "GBP", "quantity": 200, "recipient": name_c });
    run(&a, "cash.issue", &issue).await;
    let issue = json!({ "symbol": "TLY", "quantity": 100, "recipient": name_a });
    run(&a, "stock.issue", &issue).await;
    let cash = json!({ "currency": "GBP", "issuer": name_a });
    let stock = json!({ "symbol": "TLY", "issuer": name_a });
    for (client, side, price) in [(&c, "buy", 12), (&a, "sell", 9)] {
        let mandate = json!({
            "coordinator": name_b, "side": side, "cash": cash, "stock": stock,
            "price": price, "quantity_max": 50,
        });
        run(client, "swap.mandate", &mandate).await;
    }

    network.stop(Who::Notary).expect("it stops");
    let pair = json!({
        "buyer": name_c, "seller": name_a, "cash": cash, "price": 100, "stock": stock, "quantity": 10,
    });
    let began = now_ms();
    let flow = started(&b, "swap.run", &json!({ "pairs": [pair] })).await;
    let mut scene = Scene { network, flow };
    scene.stop_b();
    scene
        .check_end(C, began + 120_000 + ALLOWANCE_MS, 200)
        .await;
    assert_eq!(stage::holds(&a, "GBP").await.expect("readable"), 200);
}
