//! An absent participant occupies no flow slot and delays no other node. When it returns, it gets the transactions that it
//! missed.

use std::time::{Duration, Instant};

use api::{DeliveryStatus, DeliveryView, FlowStatus, PeerEventKind, Wait};
use client::Client;

use crate::stage::{self, A, B, C, cash};

const PAYMENTS: u64 = 300;
const COIN: u64 = 1_000;
/// Limit for payments that need no absent party. They take milliseconds; a payment that waited for the absent party would never
/// end.
const SOON: Duration = Duration::from_secs(20);

#[tokio::test]
async fn the_absent_miss_nothing_and_slow_nobody() {
    let mut network = stage::network(&["A", "B", "C"]);
    let [a, b, c] = [A, B, C].map(|who| stage::client(&network, who));
    let [name_b, name_c] = [B, C].map(|who| network.name(who).to_owned());
    let issue = cash::issue("GBP", 10 * PAYMENTS * COIN).expect("arguments");
    stage::completes(&a, issue, Wait::Delivered).await;

    stage::eventually("B is connected", async || {
        let peers = a.peers().await.ok()?.peers;
        let b = peers.iter().find(|peer| peer.name == name_b)?;
        b.connected.then_some(())
    })
    .await;
    network.kill(B);
    let started = Instant::now();
    let mut owed = Vec::new();
    for _ in 0..PAYMENTS {
        let pay = cash::pay("GBP", None, COIN, &name_b, 1).expect("arguments");
        let outcome = stage::completes(&a, pay, Wait::Finalised).await;
        assert_eq!(
            outcome.status,
            FlowStatus::Finalised,
            "finalised, not delivered"
        );
        assert_eq!(outcome.undelivered, [name_b.as_str()]);
        owed.push(outcome.flow_id);
    }
    let to_the_absent = started.elapsed();
    let node = a.node().await.expect("it answers");
    assert_eq!(
        (node.flows_in_flight, node.flows_queued),
        (0, 0),
        "no slot is taken"
    );

    let deliveries = unanswered(&a).await;
    assert_eq!(deliveries.len(), owed.len(), "one for each payment");
    for delivery in &deliveries {
        let (status, peer) = (delivery.status, &delivery.peer);
        assert_eq!((status, peer), (DeliveryStatus::Away, &name_b));
    }

    shows_pending(&a, &name_b, PAYMENTS).await;
    let history = a.peer_history(Some(&name_b), 100).await.expect("readable");
    let events: Vec<PeerEventKind> = history.events.iter().map(|event| event.event).collect();
    let gone = [PeerEventKind::Disconnected, PeerEventKind::NotReached];
    assert!(gone.contains(&events[0]), "{history:?}");
    assert!(events.contains(&PeerEventKind::Connected), "{history:?}");

    let started = Instant::now();
    for _ in 0..PAYMENTS {
        let pay = cash::pay("GBP", None, COIN, &name_c, 1).expect("arguments");
        stage::completes(&a, pay, Wait::Delivered).await;
    }
    let to_the_present = started.elapsed();
    println!(
        "{PAYMENTS} payments: {to_the_absent:?} to the absent, {to_the_present:?} to the present"
    );
    assert!(to_the_absent < SOON && to_the_present < SOON);
    let held = stage::holds(&c, "GBP").await.expect("readable");
    assert_eq!(held, u128::from(PAYMENTS * COIN));

    // The payer restarts while it owes: the debt survives.
    network.restart(A).expect("it comes back");
    network.start(B).expect("it comes back");
    stage::eventually("the absent has everything", async || {
        let held = stage::holds(&b, "GBP").await.ok()?;
        (held == u128::from(PAYMENTS * COIN)).then_some(())
    })
    .await;
    stage::eventually("every delivery is answered", async || {
        unanswered(&a).await.is_empty().then_some(())
    })
    .await;
    shows_pending(&a, &name_b, 0).await;
}

/// Waits until the node shows this number of deliveries that a peer has not answered.
async fn shows_pending(client: &Client, name: &str, expected: u64) {
    let what = format!("{expected} deliveries are pending");
    stage::eventually(&what, async || {
        let peers = client.peers().await.ok()?.peers;
        let peer = peers.iter().find(|peer| peer.name == name)?;
        (peer.pending_deliveries == expected).then_some(())
    })
    .await;
}

/// Reads all pages of the deliveries that have no answer.
async fn unanswered(client: &Client) -> Vec<DeliveryView> {
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = client.deliveries(after.as_deref(), 64).await;
        let page = page.expect("readable");
        found.extend(page.entries);
        after = page.next;
        if after.is_none() {
            return found;
        }
    }
}
