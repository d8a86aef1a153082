//! A bank that lost its whole store gets back the transactions that its counterparties have.

use api::Wait;

use crate::stage::{self, cash, restore};
use crate::stage::{A, B};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_empty_bank_gets_back_what_others_have() {
    let mut network = stage::network(&["A", "B"]);
    let [name_a, name_b] = [A, B].map(|who| network.name(who).to_owned());
    let (a, b) = (stage::client(&network, A), stage::client(&network, B));
    let issue = cash::issue("GBP", 1_000).expect("arguments");
    stage::completes(&a, issue, Wait::Delivered).await;
    let pay = cash::pay("GBP", None, 300, &name_b, 1).expect("arguments");
    stage::completes(&a, pay.clone(), Wait::Delivered).await;

    network.kill(A);
    network
        .forget_data(A)
        .expect("the store goes, and its node is told");
    network.start(A).expect("it starts with an empty store");
    let a = stage::client(&network, A);
    restore::rolled_back(&a).await;
    let refusal = a.start(&pay).await.expect_err("no start");
    assert_eq!(refusal.code(), "node.rolled_back", "{refusal}");

    let view = restore::recover(&network, A);
    assert!(view.recovery.is_some_and(|report| report.complete));
    assert_eq!(stage::holds(&a, "GBP").await.expect("readable"), 700);
    stage::completes(&a, pay, Wait::Delivered).await;
    let back = cash::pay("GBP", Some(&name_a), 600, &name_a, 1).expect("arguments");
    stage::completes(&b, back, Wait::Delivered).await;
    assert_eq!(stage::holds(&a, "GBP").await.expect("readable"), 1_000);
}
