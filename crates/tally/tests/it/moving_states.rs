//! States move between two notaries that are real processes, and cash is reissued while its issuer is killed (-9).

use api::{Outcome, StartFlow, Wait};
use client::Client;
use perf::topology::{Network, NetworkOptions};
use serde_json::{Value, json};

use crate::stage::{self, A, B, C, cash};

fn network() -> Network {
    let options = NetworkOptions {
        second_notary: true,
        ..stage::options(&["A", "B", "C"])
    };
    Network::bring_up(&options).expect("the network comes up")
}

fn start(flow: &str, arguments: &Value) -> StartFlow {
    StartFlow::new(flow, arguments).expect("arguments")
}

fn result(outcome: &Outcome) -> Value {
    let result = outcome.result.as_ref().expect("a result");
    serde_json::from_str(result.get()).expect("JSON")
}

fn pay(notary: &str, issuer: &str, quantity: u64, to: &str) -> StartFlow {
    let arguments = json!({
        "currency": "GBP", "issuer": issuer, "notary": notary,
        "payments": [{ "to": to, "quantity": quantity }],
    });
    start("cash.pay", &arguments)
}

async fn comes_to_hold(client: &Client, quantity: u128) {
    let what = format!("it holds {quantity}");
    stage::eventually(&what, async || {
        let held = stage::holds(client, "GBP").await.ok()?;
        (held == quantity).then_some(())
    })
    .await;
}

#[tokio::test]
async fn cash_is_issued_at_one_notary_and_paid_at_the_other() {
    let mut network = network();
    let [a, b] = [A, B].map(|who| stage::client(&network, who));
    let [name_a, name_b, second] = [A, B, C].map(|who| network.name(who).to_owned());
    let issue = cash::issue("GBP", 1_000).expect("arguments");
    let issued = stage::completes(&a, issue, Wait::Delivered).await;
    let coin = json!({ "tx": issued.transactions[0], "index": 0 });
    let change = json!({ "states": [coin], "to": second });
    let moved = start("ledger.change_notary", &change);
    let moved = result(&stage::completes(&a, moved, Wait::Delivered).await);
    assert_eq!(moved["states"][0]["tx"], moved["transaction"]);

    // The notaries' records survive a restart.
    network
        .restart(perf::topology::Who::Notary)
        .expect("it comes back");
    network.restart(C).expect("it comes back");
    let paid = pay(&second, &name_a, 400, &name_b);
    stage::completes(&a, paid, Wait::Delivered).await;
    comes_to_hold(&b, 400).await;
    comes_to_hold(&a, 600).await;
    let again = start("ledger.change_notary", &change).wait(Wait::Finalised);
    let error = a.start(&again).await.expect_err("the coin is gone");
    assert!(
        ["notary.conflict", "vault.state_consumed"].contains(&error.code()),
        "{error:?}"
    );
}

#[tokio::test]
async fn cash_is_issued_anew_although_the_issuer_is_killed() {
    const TURNS: u64 = 5;
    let mut network = network();
    let [a, b] = [A, B].map(|who| stage::client(&network, who));
    let [name_a, name_b] = [A, B].map(|who| network.name(who).to_owned());
    let both = cash::issue_and_pay("GBP", 1_000, &name_b).expect("arguments");
    stage::completes(&a, both, Wait::Delivered).await;
    comes_to_hold(&b, 1_000).await;
    for turn in 0..TURNS {
        let arguments = json!({ "currency": "GBP", "quantity": 1_000, "issuer": name_a });
        let anew = start("cash.reissue", &arguments).client_id(format!("anew-{turn}"));
        let accepted = anew.clone().wait(Wait::None);
        b.start(&accepted).await.expect("it is taken");
        network.kill(A);
        network.start(A).expect("it comes back");
        let outcome = stage::completes(&b, anew, Wait::Finalised).await;
        let issue = result(&outcome)["issue"]
            .as_str()
            .expect("an id")
            .to_owned();
        let made = b.transaction(&issue).await.expect("it is here");
        assert!(made.inputs.is_empty(), "it has no past");
        comes_to_hold(&b, 1_000).await;
    }
    let states = b.states(None, 100).await.expect("readable").states;
    assert_eq!(
        states.len(),
        1,
        "the cash of the last turn and nothing else"
    );
}
