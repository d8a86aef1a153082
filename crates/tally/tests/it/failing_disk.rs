//! Real processes: a disk that has no room for a moment. The limit of file sizes stands for it, which another process can set and lift.

use std::process::Command;

use api::{NodeState, StartFlow, Wait};
use client::Client;
use perf::topology::Network;
use serde_json::json;

use crate::stage::command::tally;
use crate::stage::{self, A, cash, client, completes, eventually, holds};

/// No file grows beyond this: the database of the view would, and segments of the store's log do not.
const FILE_BYTES_MAX: u64 = 1_300_000;
/// Transactions before that.
const BULK: u64 = 160;
/// Coins of each.
const BULK_COINS: u64 = 40;
/// Number of starts, more than fit the write-ahead log of the view's database.
const STARTS_MAX: u64 = 2_000;

/// Bounds the size of a node's files, or lifts the bound. A privileged process or one of the same user may.
fn bound_files(network: &Network, bytes: Option<u64>) {
    let pid = network.pid(A).expect("it runs");
    let bound = bytes.map_or_else(|| "unlimited".to_owned(), |bytes| bytes.to_string());
    let done = Command::new("prlimit")
        // The soft limit alone, so that it can be lifted again.
        .args(["--pid", &pid.to_string(), &format!("--fsize={bound}:")])
        .status()
        .expect("util-linux is installed");
    assert!(done.success(), "{done}");
}

/// Issues enough coins to make the view's database larger than [`FILE_BYTES_MAX`].
async fn fill_the_view(a: &Client) -> u128 {
    for _ in 0..BULK {
        let arguments = json!({ "currency": "GBP", "quantity": BULK_COINS, "outputs": BULK_COINS });
        let start = StartFlow::new("cash.issue", &arguments).expect("JSON");
        completes(a, start, Wait::Finalised).await;
    }
    u128::from(BULK * BULK_COINS)
}

/// Issues until the view has failed, and returns the sum.
async fn issue_until_the_view_fails(a: &Client) -> u128 {
    for issued in 1..=STARTS_MAX {
        let start = cash::issue("GBP", 1).expect("arguments");
        completes(a, start, Wait::Finalised).await;
        if a.health().await.expect("answered").state == NodeState::Degraded {
            return u128::from(issued);
        }
    }
    panic!("the view has room for {STARTS_MAX} starts");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_view_comes_back_when_the_disk_has_room_again() {
    let mut options = stage::options(&["A"]);
    options.settings = vec!["store.log_bytes = 1048576".into()];
    let network = Network::bring_up(&options).expect("the network comes up");
    let a = client(&network, A);
    let filled = fill_the_view(&a).await;
    bound_files(&network, Some(FILE_BYTES_MAX));
    let issued = filled + issue_until_the_view_fails(&a).await;

    let health = a.health().await.expect("answered");
    assert!(health.live && !health.ready, "{health:?}");
    assert!(
        health
            .code
            .as_deref()
            .is_some_and(|code| code.starts_with("view.")),
        "{health:?}"
    );
    let doctor = tally(network.folder(A), "doctor --node % --json");
    assert_eq!(doctor.code, 5, "{}", doctor.out);
    let findings = doctor.json();
    let view = findings.as_array().expect("a list").iter();
    let view = view.filter(|found| found["check"] == "state");
    let verdicts: Vec<_> = view.map(|found| found["verdict"].clone()).collect();
    assert_eq!(verdicts, ["problem"], "{findings}");
    let refused = tally(network.folder(A), "vault balances --node %");
    assert_eq!(refused.code, 4, "{}", refused.err);
    assert!(refused.err.contains("vault.view_failed"), "{}", refused.err);

    bound_files(&network, None);
    eventually("the view follows again", async || {
        a.health().await.ok().filter(|health| health.ready)
    })
    .await;
    assert_eq!(holds(&a, "GBP").await.expect("readable"), issued);
    // It goes on, flows that need coins from the view too.
    let start = cash::exit("GBP", 3).expect("arguments");
    completes(&a, start, Wait::Finalised).await;
    assert_eq!(holds(&a, "GBP").await.expect("readable"), issued - 3);
}

/// Bounds the number of a node's open files.
fn bound_open_files(network: &Network, count: u64) {
    let pid = network.pid(A).expect("it runs");
    let done = Command::new("prlimit")
        .args(["--pid", &pid.to_string(), &format!("--nofile={count}:")])
        .status()
        .expect("util-linux is installed");
    assert!(done.success(), "{done}");
}

/// Returns the soft limit of a node's open files.
fn open_files_max(network: &Network) -> u64 {
    let pid = network.pid(A).expect("it runs");
    let limits = std::fs::read_to_string(format!("/proc/{pid}/limits")).expect("readable");
    let line = limits
        .lines()
        .find(|line| line.starts_with("Max open files"));
    let soft = line.and_then(|line| line.split_whitespace().nth(3));
    soft.and_then(|soft| soft.parse().ok()).expect("a number")
}

/// Queries cannot open the view, while the thread that writes it has it open.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn health_tells_that_no_query_can_read_the_view() {
    let network = Network::bring_up(&stage::options(&["A"])).expect("the network comes up");
    let a = client(&network, A);
    let start = cash::issue("GBP", 5).expect("arguments");
    completes(&a, start, Wait::Finalised).await;
    let before = open_files_max(&network);
    bound_open_files(&network, 3);
    // This client keeps its connection. A new one could not be accepted.
    let refused = holds(&a, "GBP").await.expect_err("no file can be opened");
    assert_eq!(refused.code(), "vault.view_failed", "{refused}");
    let health = eventually("health tells of it", async || {
        let health = a.health().await.ok()?;
        (health.state == NodeState::Degraded).then_some(health)
    })
    .await;
    let code = health.code.as_deref().unwrap_or_default();
    assert!(code.starts_with("view."), "{health:?}");
    bound_open_files(&network, before);
    eventually("the view follows again", async || {
        a.health().await.ok().filter(|health| health.ready)
    })
    .await;
    assert_eq!(holds(&a, "GBP").await.expect("readable"), 5);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_whose_store_failed_exits_with_its_own_code() {
    let mut options = stage::options(&["A"]);
    options.settings = vec!["store.exit_after_failure_s = 1".into()];
    let mut network = Network::bring_up(&options).expect("the network comes up");
    let a = client(&network, A);
    let start = || cash::issue("GBP", 1).expect("arguments");
    completes(&a, start(), Wait::Finalised).await;
    bound_files(&network, Some(0));
    let refused = a.start(&start()).await.expect_err("nothing can be written");
    assert!(
        refused.code() == "node.store_failed" || refused.is_outcome_unknown(),
        "{refused}"
    );
    let status = network
        .process(A)
        .ended_within(stage::DEADLINE)
        .expect("it ends");
    assert_eq!(status.code(), Some(6), "{status}");
    // The disk is still full when a supervisor restarts the node. The node must exit again, so that it is restarted once more.
    let status = Command::new("prlimit")
        .arg("--fsize=0")
        .arg(stage::binary())
        .args(["node", "run"])
        .arg(network.folder(A))
        .status()
        .expect("util-linux is installed");
    assert_eq!(status.code(), Some(6), "{status}");
    network.start(A).expect("it comes back");
    let a = client(&network, A);
    completes(&a, start(), Wait::Finalised).await;
}
