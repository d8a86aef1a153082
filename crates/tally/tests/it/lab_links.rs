//! Links between the nodes of a laboratory's network: messages pass through them and take the configured delay.

use std::time::{Duration, Instant};

use api::Wait;
use client::Client;
use perf::topology::{LinkSpeed, LinkSpeeds, Network, NetworkOptions};

use crate::stage::{self, A, B, cash, completes, holds};

/// One payment of one from A to B; returns how long it took until B had recorded it.
async fn pay(client: &Client, to: &str) -> Duration {
    let begun = Instant::now();
    let start = cash::pay("GBP", None, 1, to, 1).expect("arguments");
    completes(client, start, Wait::Delivered).await;
    begun.elapsed()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payment_to_a_far_node_takes_a_round_trip_longer() {
    let options = NetworkOptions {
        links: true,
        ..NetworkOptions::numbered(stage::binary(), 2)
    };
    let mut network = Network::bring_up(&options).expect("it comes up");
    let client = stage::client(&network, A);
    let payee = network.name(B).to_owned();
    let start = cash::issue("GBP", 100).expect("arguments");
    completes(&client, start, Wait::Delivered).await;
    pay(&client, &payee).await;
    let links = network.links().expect("it was made with links");
    let before = links.carried_bytes();
    assert!(before > 0, "nodes talk through their links");

    // Positions count from the notary, so that the second bank's is 2.
    links.set(LinkSpeeds {
        own: [(2, LinkSpeed::new(100.0, None))].into(),
        ..LinkSpeeds::default()
    });
    let far = pay(&client, &payee).await;
    assert!(far >= Duration::from_millis(200), "{far:?}");
    // Who dials is found again after a restart.
    network.restart(B).expect("it restarts");
    let far = pay(&client, &payee).await;
    assert!(far >= Duration::from_millis(200), "{far:?}");

    let links = network.links().expect("as before");
    links.set(LinkSpeeds {
        all: LinkSpeed::new(0.0, Some(10.0)),
        ..LinkSpeeds::default()
    });
    pay(&client, &payee).await;
    assert!(links.carried_bytes() > before);
    let far = stage::client(&network, B);
    assert_eq!(holds(&far, "GBP").await.expect("an answer"), 4);
}
