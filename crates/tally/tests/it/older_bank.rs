//! A bank that was restored from an older copy starts no flow until it has fetched the transactions that it lost.

use api::Wait;

use crate::stage::restore::{self, Backup};
use crate::stage::{self, A, B, cash};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_older_bank_recovers_what_it_lost() {
    let mut network = stage::network(&["A", "B"]);
    let [name_a, name_b] = [A, B].map(|who| network.name(who).to_owned());
    let b = stage::client(&network, B);
    let issue = cash::issue("GBP", 1_000).expect("arguments");
    stage::completes(&stage::client(&network, A), issue, Wait::Delivered).await;
    let backup = Backup::of(&mut network, A);

    let a = stage::client(&network, A);
    let pay = cash::pay("GBP", None, 300, &name_b, 1).expect("arguments");
    let paid = stage::completes(&a, pay.clone(), Wait::Delivered).await;
    backup.restore(&mut network, A);
    network.start(A).expect("it starts on the copy");

    let a = stage::client(&network, A);
    let proof = restore::rolled_back(&a).await;
    assert!(proof.data_until_ms > 0, "{proof:?}");
    let refusal = a.start(&pay).await.expect_err("no start");
    assert_eq!(refusal.code(), "node.rolled_back", "{refusal}");
    assert!(restore::warning(&a, "node.rolled_back").await.is_some());
    let doctor = restore::command(&network, A, "doctor --node %");
    assert!(doctor.out.contains("node.rolled_back"), "{}", doctor.out);
    assert_ne!(doctor.code, 0);
    let checked = restore::command(&network, A, "network check %");
    assert!(checked.out.contains("node.rolled_back"), "{}", checked.out);
    assert_eq!(checked.code, 5);
    let info = restore::command(&network, A, "node info --node %");
    assert!(info.out.contains("node.rolled_back"), "{}", info.out);
    let ready = network.restart(A);
    ready.expect("it starts, and stays stopped");
    let a = stage::client(&network, A);
    let refusal = a.start(&pay).await.expect_err("no start");
    assert_eq!(refusal.code(), "node.rolled_back", "{refusal}");

    let view = restore::recover(&network, A);
    assert_eq!(view.rolled_back, None);
    let report = view.recovery.expect("a report");
    assert!(report.complete, "{report:#?}");
    for id in &paid.transactions {
        assert!(report.transactions.contains(id), "{id}: {report:#?}");
    }
    assert_eq!(stage::holds(&a, "GBP").await.expect("readable"), 700);
    stage::completes(&a, pay, Wait::Delivered).await;
    let back = cash::pay("GBP", Some(&name_a), 600, &name_a, 1).expect("arguments");
    stage::completes(&b, back, Wait::Delivered).await;
    assert_eq!(stage::holds(&a, "GBP").await.expect("readable"), 1_000);
    assert!(restore::warning(&a, "node.rolled_back").await.is_none());
}
