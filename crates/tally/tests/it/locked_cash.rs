//! Cash locked until a time, against real processes: the lock opens by itself, although its owner was down. The test also reads
//! the scheduled flows, the back chain of a transaction, and its notes.

use std::time::{SystemTime, UNIX_EPOCH};

use api::{ScheduleStatus, StartFlow, Wait};
use client::ClientError;
use serde_json::json;

use crate::stage::{self, A, B, cash, client, completes, eventually, holds};

/// Long enough for a node to be stopped before it is over.
const LOCKED_MS: u64 = 15_000;

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    u64::try_from(since.expect("after 1970").as_millis()).expect("some time yet")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_opens_itself_after_a_restart_of_its_owner() {
    let mut network = stage::network(&["A", "B"]);
    let (a, b) = (client(&network, A), client(&network, B));
    let issue = cash::issue("GBP", 100).expect("arguments");
    completes(&a, issue, Wait::Delivered).await;
    let until = now_ms() + LOCKED_MS;
    let args = json!({
        "currency": "GBP", "quantity": 60, "until": until, "to": network.name(B),
    });
    let start = StartFlow::new("cash.lock", &args).expect("arguments");
    let locked = completes(&a, start, Wait::Delivered).await;
    let id = locked.transactions[0].clone();
    assert_eq!(holds(&a, "GBP").await.expect("readable"), 40);
    assert_eq!(holds(&b, "GBP").await.expect("readable"), 0);

    let scheduled = b.schedule(None, 10).await.expect("readable").entries;
    assert_eq!(scheduled.len(), 1);
    assert_eq!(
        (scheduled[0].flow.as_str(), scheduled[0].at_ms),
        ("cash.unlock", until)
    );
    assert!(
        a.schedule(None, 10)
            .await
            .expect("readable")
            .entries
            .is_empty()
    );

    // The transaction's back chain, its bytes, and a note on it.
    let chain = b.chain(&id, None, 1).await.expect("readable");
    assert_eq!(chain.entries[0].id, id);
    let rest = b.chain(&id, chain.next, 10).await.expect("readable");
    assert_eq!(rest.entries.len(), 1);
    assert_eq!(chain.entries[0].depends_on, [rest.entries[0].id.clone()]);
    let view = b.transaction(&id).await.expect("readable");
    let bytes = b.transaction_bytes(&id).await.expect("readable");
    assert_eq!(primitives::hex::encode(&bytes), view.bytes);
    let note = b.add_note(&id, "rent, June").await.expect("made");
    let other = b.add_note(&id, "a mistake").await.expect("made");
    b.remove_note(&id, &other.id).await.expect("removed");
    let again = b.remove_note(&id, &other.id).await;
    assert!(
        matches!(&again, Err(ClientError::Problem(problem)) if problem.code == "node.unknown_note"),
        "{again:?}"
    );

    // The time comes while the owner is down.
    network.kill(B);
    eventually("the time has come", || async {
        (now_ms() > until).then_some(())
    })
    .await;
    network.start(B).expect("starts");
    let b = client(&network, B);
    eventually("the lock has opened itself", || async {
        (holds(&b, "GBP").await.ok()? == 60).then_some(())
    })
    .await;
    assert!(
        b.schedule(None, 10)
            .await
            .expect("readable")
            .entries
            .is_empty()
    );
    assert_eq!(b.notes(&id).await.expect("readable").notes, [note]);
    assert!(a.notes(&id).await.expect("readable").notes.is_empty());
    let audit = network.folder(B).join("audit.log");
    let started = || {
        let audit = std::fs::read_to_string(&audit).unwrap_or_default();
        let of_schedule =
            |line: &&str| line.contains("cash.unlock") && line.contains("\"schedule\"");
        audit.lines().filter(of_schedule).count()
    };
    // A thread of its own writes it.
    eventually("the log says who started it", || async {
        (started() > 0).then_some(())
    })
    .await;
    assert_eq!(started(), 1);
    assert_eq!(scheduled[0].status, ScheduleStatus::Waiting);
}
