//! A state paid back and forth 10,000 times is resolved by a newcomer in bounded memory and in seconds.

use std::time::{Duration, Instant};

use api::{FlowStatus, Wait};
use client::Client;
use perf::measure::ProcessReading;
use perf::topology::Network;

use crate::stage::{self, A, B, C, cash};

/// How often the state changes hands before the newcomer sees it.
const DEPTH: u32 = 10_000;
/// Time limit for the newcomer to resolve the chain, alone on two cores.
const RESOLVED_WITHIN: Duration = Duration::from_secs(30);
/// Limit of the newcomer's peak memory, in bytes.
const MEMORY_MAX: u64 = 150_000_000;
const COIN: u64 = 1_000;

#[test]
fn a_newcomer_resolves_a_deep_chain() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(run());
}

async fn run() {
    // The chain is made one commit after the other; in memory that takes seconds, and this test is not about the disk.
    let mut options = stage::options(&["A", "B", "C"]);
    let memory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    let memory = memory.expect("a temporary folder");
    options.folder = Some(memory.path().to_path_buf());
    let network = Network::bring_up(&options).expect("the network comes up");
    let [a, b, c] = [A, B, C].map(|who| stage::client(&network, who));
    let [name_a, name_b, name_c] = [A, B, C].map(|who| network.name(who).to_owned());

    let issue = cash::issue("GBP", COIN).expect("arguments");
    stage::completes(&a, issue, Wait::Delivered).await;
    let started = Instant::now();
    for turn in 0..DEPTH / 2 {
        pay(&a, &name_a, &name_b, turn).await;
        pay(&b, &name_a, &name_a, turn).await;
    }
    println!(
        "{DEPTH} payments one after another in {:?}",
        started.elapsed()
    );

    let pid = network.pid(C).expect("it runs");
    let before = ProcessReading::of(pid).expect("it runs");
    let started = Instant::now();
    pay(&a, &name_a, &name_c, 0).await;
    let took = started.elapsed();
    let after = ProcessReading::of(pid).expect("it runs");
    println!(
        "resolved in {took:?}; {} MB at the peak, {} MB before",
        after.rss_peak_bytes / 1_000_000,
        before.rss_peak_bytes / 1_000_000
    );
    assert_eq!(
        stage::holds(&c, "GBP").await.expect("readable"),
        u128::from(COIN)
    );
    assert!(took < RESOLVED_WITHIN, "{took:?}");
    assert!(
        after.rss_peak_bytes < MEMORY_MAX,
        "{}",
        after.rss_peak_bytes
    );
    let page = c.ledger(None, 1).await.expect("readable");
    assert_eq!(page.entries.len(), 1, "the chain is recorded, oldest first");
    let newest = c.health().await.expect("it answers").ledger_seq;
    assert!(newest > u64::from(DEPTH), "{newest}");
}

async fn pay(from: &Client, issuer: &str, to: &str, turn: u32) {
    let start = cash::pay("GBP", Some(issuer), COIN, to, 1).expect("arguments");
    let start = start.wait(Wait::Delivered).timeout_ms(120_000);
    let outcome = from.start(&start).await.expect("the node takes the start");
    assert_eq!(
        outcome.status,
        FlowStatus::Delivered,
        "turn {turn}: {outcome:?}"
    );
}
