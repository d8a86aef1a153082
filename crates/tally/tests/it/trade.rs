//! Real processes: a paper is issued, sold for cash, matures and is redeemed, and three banks net their obligations in a ring.

use std::time::{SystemTime, UNIX_EPOCH};

use api::{StartFlow, Wait};
use client::Client;
use serde_json::{Value, json};

use crate::stage::{self, A, B, C, cash};

/// How long after its issue the paper matures: long enough for the sale on a busy machine.
const MATURES_IN_MS: u64 = 15_000;

/// Runs a flow until it is delivered; its result.
async fn run(client: &Client, flow: &str, arguments: &Value) -> Value {
    let start = StartFlow::new(flow, arguments).expect("JSON");
    let outcome = stage::completes(client, start, Wait::Delivered).await;
    let result = outcome.result.expect("a result");
    serde_json::from_str(result.get()).expect("JSON")
}

/// Runs a flow that is refused; the code.
async fn refused(client: &Client, flow: &str, arguments: &Value) -> Option<String> {
    let start = StartFlow::new(flow, arguments).expect("JSON");
    let start = start.wait(Wait::Delivered).timeout_ms(60_000);
    let refused = client.start(&start).await.err()?;
    assert!(refused.failed_flow().is_some(), "{refused}");
    Some(refused.code().to_owned())
}

#[tokio::test]
async fn paper_is_sold_against_cash_and_redeemed_and_a_ring_of_debts_is_netted() {
    let network = stage::network(&["A", "B", "C"]);
    let [a, b, c] = [A, B, C].map(|who| stage::client(&network, who));
    let [name_a, name_b, name_c] = [A, B, C].map(|who| network.name(who).to_owned());
    let issue = cash::issue("GBP", 1_000).expect("arguments");
    stage::completes(&a, issue, Wait::Delivered).await;
    let pay = cash::pay("GBP", None, 200, &name_c, 1).expect("arguments");
    stage::completes(&a, pay, Wait::Delivered).await;
    let token = json!({ "currency": "GBP", "issuer": name_a });

    // A owes B 100 by a paper, which C buys for 90.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("now");
    let maturity = u64::try_from(now.as_millis()).expect("now") + MATURES_IN_MS;
    let paper = json!({ "face": 100, "token": token, "maturity": maturity, "recipient": name_b });
    let paper = run(&a, "paper.issue", &paper).await;
    let bid = json!({
        "seller": name_b, "token": token, "price_max": 95, "until": maturity,
        "paper": { "issuer": name_a, "token": token, "face": 100, "maturity": maturity },
    });
    let bid = run(&c, "trade.bid", &bid).await;
    let sale = |price: u64| json!({ "asset": paper["state"], "bid": bid["state"], "price": price });
    let dear = refused(&b, "trade.sell", &sale(96)).await;
    assert_eq!(dear.as_deref(), Some("trade.price_over_bid"));
    let sold = run(&b, "trade.sell", &sale(90)).await;
    assert_eq!(stage::holds(&b, "GBP").await.expect("readable"), 90);

    // The paper matures; A finds it where the sale put it.
    let redemption = stage::eventually("the paper is redeemed", async || {
        for index in 0..4 {
            let redeem = json!({ "paper": { "tx": sold["transaction"], "index": index } });
            match refused(&a, "paper.redeem", &redeem).await.as_deref() {
                None => return Some(()),
                Some("paper.not_mature") => return None,
                Some(code) => assert!(["paper.not_a_paper", "node.unknown_state"].contains(&code)),
            }
        }
        None
    });
    redemption.await;
    stage::eventually("C has the face value", async || {
        (stage::holds(&c, "GBP").await.ok()? == 210).then_some(())
    })
    .await;

    // A owes B 30, B owes C 20, C owes A 10: netted, C owes nothing.
    let owe = |to: &str, quantity: u64| json!({ "to": to, "quantity": quantity, "tokens": [token], "due": maturity });
    let one = run(&a, "obligation.issue", &owe(&name_b, 30)).await;
    let two = run(&b, "obligation.issue", &owe(&name_c, 20)).await;
    let three = run(&c, "obligation.issue", &owe(&name_a, 10)).await;
    let ring = json!({
        "obligations": [one["state"], two["state"], three["state"]],
        "parties": [name_b],
    });
    let netted = run(&a, "obligation.net", &ring).await;
    assert_eq!(netted["netted"], "30", "10 of each of the three");
    let left = netted["states"].as_array().expect("a list");
    assert_eq!(left.len(), 2);
    let settled = run(&a, "obligation.settle", &json!({ "obligation": left[0] })).await;
    assert_eq!(settled["owed"], "0");
    assert_eq!(settled["obligation"], one["obligation"]);
    stage::eventually("B has what was left of A's debt", async || {
        (stage::holds(&b, "GBP").await.ok()? == 110).then_some(())
    })
    .await;
}
