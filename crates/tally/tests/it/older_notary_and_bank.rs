//! A notary and a bank that were both restored from older copies, while the only witness is away. The notary signs a second
//! consumer of a state then, which no other node can know. Once the witness is back both stop, and the witness never shows
//! double money.

use api::Wait;
use perf::topology::Who;

use crate::stage::restore::{self, Backup};
use crate::stage::{self, A, B, C, cash};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_witness_stops_both_and_keeps_the_first_spend() {
    let mut network = stage::network(&["A", "B", "C"]);
    let [name_a, name_b, name_c] = [A, B, C].map(|who| network.name(who).to_owned());
    let issue = cash::issue("GBP", 1_000).expect("arguments");
    stage::completes(&stage::client(&network, A), issue, Wait::Delivered).await;
    let [bank, notary] = Backup::of_all(&mut network, [A, Who::Notary]);
    let a = stage::client(&network, A);
    let first = cash::pay("GBP", None, 1_000, &name_b, 1).expect("arguments");
    stage::completes(&a, first, Wait::Delivered).await;

    // All but the witness go back in time. Bank C saw nothing of the first spend, and its marks are older.
    network.kill(B);
    network.kill(C);
    notary.restore(&mut network, Who::Notary);
    bank.restore(&mut network, A);
    network.start(Who::Notary).expect("it starts on the copy");
    network.start(A).expect("it starts on the copy");
    let (a, n) = (
        stage::client(&network, A),
        stage::client(&network, Who::Notary),
    );
    let second = cash::pay("GBP", None, 1_000, &name_c, 1).expect("arguments");
    stage::completes(&a, second, Wait::Finalised).await;

    network.start(B).expect("the witness is back");
    network.start(C).expect("it is back");
    restore::rolled_back(&n).await;
    restore::rolled_back(&a).await;
    let (b, c) = (stage::client(&network, B), stage::client(&network, C));
    stage::eventually("bank C has the second spend", async || {
        (stage::holds(&c, "GBP").await.ok()? == 1_000).then_some(())
    })
    .await;
    assert_eq!(stage::holds(&b, "GBP").await.expect("readable"), 1_000);

    // The notary learns of the first spend and cannot undo the second. Bank A keeps proof against it.
    let view = restore::recover(&network, Who::Notary);
    let report = view.recovery.expect("a report");
    assert!(report.conflicts >= 1, "{report:#?}");
    restore::command(
        &network,
        A,
        "recover --node % --timeout 20 --accept-missing",
    );
    let proofs = stage::eventually("a proof", async || {
        let page = a.equivocations(None, 10).await.ok()?;
        (!page.entries.is_empty()).then_some(page.entries)
    })
    .await;
    assert_eq!(proofs.len(), 1, "{proofs:#?}");
    let file = network.folder(A).join("proof");
    let line = format!(
        "notary equivocations --node % {} --export {}",
        proofs[0].refused,
        file.display()
    );
    assert_eq!(restore::command(&network, A, &line).code, 0);
    let checked = format!("notary check-proof {} --json", file.display());
    let checked = restore::command(&network, A, &checked);
    assert_eq!(checked.code, 0, "{}", checked.err);
    assert!(checked.out.contains(&proofs[0].recorded), "{}", checked.out);

    // No descendant of the second spend reaches the witness's vault.
    let on = cash::pay("GBP", Some(&name_a), 400, &name_b, 1).expect("arguments");
    let on = on.wait(Wait::Delivered).timeout_ms(60_000);
    let outcome = c.start(&on).await.expect("the bank takes the start");
    let refused: Vec<&str> = outcome.refused.iter().map(|r| r.code.as_str()).collect();
    assert_eq!(refused, ["tx.dependency_invalid"], "{outcome:#?}");
    assert_eq!(stage::holds(&b, "GBP").await.expect("readable"), 1_000);
    let page = b.equivocations(None, 10).await.expect("a page");
    assert_eq!(page.entries.len(), 1, "{page:#?}");
}
