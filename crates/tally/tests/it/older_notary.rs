//! A notary that was restored from an older copy signs nothing until it has entered its earlier signatures again.

use api::Wait;
use perf::topology::Who;

use crate::stage::restore::{self, Backup};
use crate::stage::{self, A, B, cash};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_older_notary_signs_nothing_until_it_has_recovered() {
    let mut network = stage::network(&["A", "B"]);
    let [name_a, name_b] = [A, B].map(|who| network.name(who).to_owned());
    let (a, b) = (stage::client(&network, A), stage::client(&network, B));
    let issue = cash::issue("GBP", 1_000).expect("arguments");
    stage::completes(&a, issue, Wait::Delivered).await;
    let backup = Backup::of(&mut network, Who::Notary);
    let pay = cash::pay("GBP", None, 300, &name_b, 1).expect("arguments");
    stage::completes(&a, pay, Wait::Delivered).await;

    backup.restore(&mut network, Who::Notary);
    network.start(Who::Notary).expect("it starts on the copy");
    let notary = stage::client(&network, Who::Notary);
    restore::rolled_back(&notary).await;
    assert!(
        restore::warning(&notary, "node.rolled_back")
            .await
            .is_some()
    );
    let back = cash::pay("GBP", Some(&name_a), 100, &name_a, 1).expect("arguments");
    let wait = back.clone().wait(Wait::Finalised).timeout_ms(60_000);
    let failure = b.start(&wait).await.expect_err("the notary refuses");
    assert_eq!(failure.code(), "notary.rolled_back", "{failure:?}");

    let view = restore::recover(&network, Who::Notary);
    let report = view.recovery.expect("a report");
    assert!(report.complete && report.conflicts == 0, "{report:#?}");
    assert_eq!(report.notarised, 1, "{report:#?}");
    stage::completes(&b, back, Wait::Delivered).await;
    assert_eq!(stage::holds(&a, "GBP").await.expect("readable"), 800);
    assert_eq!(stage::holds(&b, "GBP").await.expect("readable"), 200);
}
