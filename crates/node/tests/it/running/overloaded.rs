//! More starts than a node has room for: the accepted ones, the refused ones, and their outcomes.

use std::time::Duration;

use api::{FlowStatus, StartFlow, Wait};
use client::{Client, ClientError, Stream};
use node::bootstrap::{NetworkSpec, bootstrap, load_node_dir};
use node::{Apps, Node};
use serde_json::json;

use crate::running::{client_of, run, start, value};

/// The notary is away at first: a flow that needs it keeps its place until it comes.
const TWO: &str = r#"
    [[node]]
    name = "O=Bank, L=London, C=GB"

    [[node]]
    name = "O=Notary, L=London, C=GB"
    notary = true
"#;

/// For events that come at once.
const PATIENCE: Duration = Duration::from_secs(60);

fn exit(client_id: &str) -> StartFlow {
    let arguments = json!({ "currency": "GBP", "quantity": 10 });
    let start = StartFlow::new("cash.exit", &arguments).expect("arguments");
    start.client_id(client_id).wait(Wait::Delivered)
}

/// Waits until the given numbers of flows run and wait.
async fn holds(client: &Client, running: u64, queued: u64) {
    let waiting = async {
        loop {
            let node = client.node().await.expect("readable");
            if (node.flows_in_flight, node.flows_queued) == (running, queued) {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    let waited = tokio::time::timeout(PATIENCE, waiting).await;
    waited.expect("the node takes what it has room for");
}

async fn refusal(stream: &Stream, start: &StartFlow) -> api::Problem {
    let answer = tokio::time::timeout(PATIENCE, stream.start(start)).await;
    match answer.expect("a refusal does not wait") {
        Err(ClientError::Problem(problem)) => *problem,
        other => panic!("not refused: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refused_starts_are_told_so_at_once_leave_nothing_and_can_be_repeated() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let description = folder.path().join("NETWORK.toml");
    std::fs::write(&description, TWO).expect("written");
    let out = folder.path().join("out");
    let spec = NetworkSpec::read(&description).expect("a description");
    bootstrap(&spec, &out).expect("bootstrapped");
    let mut files = load_node_dir(&out.join("bank")).expect("bootstrapped");
    files.config.limits.live_flows = 2;
    files.config.limits.start_queue = 2;
    let bank = Node::start(files, Apps::built_in().expect("cash")).await;
    let bank = bank.expect("it starts");
    let client = client_of(&out.join("bank"), &bank);
    for _ in 0..10 {
        run(&client, "cash.issue", 10).await;
    }
    client.balances().await.expect("the view has them");

    let stream = client.stream();
    let mut accepted = Vec::new();
    for name in ["a", "b", "c", "d"] {
        let stream = stream.clone();
        accepted.push(tokio::spawn(async move { stream.start(&exit(name)).await }));
    }
    holds(&client, 2, 2).await;
    for name in ["e", "f", "g", "e"] {
        let failure = refusal(&stream, &exit(name)).await;
        assert_eq!(failure.code, "node.busy");
        assert!(failure.retry_after_ms.is_some_and(|ms| ms >= 50));
    }
    // Without a client id nothing has to be looked up, and none of it reaches the flows: not even these arguments.
    let nonsense = StartFlow::new("cash.exit", &json!("nonsense")).expect("JSON");
    assert_eq!(refusal(&stream, &nonsense).await.code, "node.busy");
    let single = client.start(&exit("h")).await.expect_err("no room");
    assert_eq!(single.code(), "node.busy");
    holds(&client, 2, 2).await;
    // A repeated start is no new work: it joins the one that it repeats, room or not.
    let joined = tokio::spawn({
        let stream = stream.clone();
        async move { stream.start(&exit("a")).await }
    });

    let (notary, _) = start(&out.join("notary")).await;
    let mut ids = Vec::new();
    for task in accepted {
        let outcome = task.await.expect("no panic").expect("accepted");
        assert_eq!(outcome.status, FlowStatus::Delivered, "{outcome:?}");
        ids.push(outcome.flow_id);
    }
    let joined = joined.await.expect("no panic").expect("known");
    assert!(
        ids.contains(&joined.flow_id),
        "{joined:?} is none of {ids:?}"
    );
    for name in ["e", "f", "g", "h"] {
        let outcome = stream.start(&exit(name)).await.expect("there is room");
        assert_eq!(outcome.status, FlowStatus::Delivered, "{outcome:?}");
    }
    let balances = client.balances().await.expect("readable").balances;
    assert_eq!(balances[0].quantity, "20", "eight of ten, once each");
    let metrics = client.metrics().await.expect("readable");
    assert_eq!(value(&metrics, "tally_flows_started_total"), 18.0);
    assert_eq!(value(&metrics, "tally_flows_refused_total"), 6.0);
    drop((stream, client));
    bank.stop().await;
    notary.stop().await;
    let audit = std::fs::read_to_string(out.join("bank/audit.log")).expect("an audit log");
    let busy: u64 = audit
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"))
        .filter(|line| line["code"] == "node.busy")
        .map(|line| line["count"].as_u64().unwrap_or(1))
        .sum();
    assert_eq!(busy, 6, "none of them goes unnoted");
}
