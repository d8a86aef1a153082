//! A node in this process, and its own views of itself.

mod besieger;
mod certificates;
mod columns;
mod copied;
mod floods;
mod following;
mod history;
mod locks;
mod overloaded;
mod panicking;
mod shares;
mod validating;
mod vault_queries;

use std::path::Path;
use std::time::{Duration, Instant};

use api::{FlowStatus, Outcome, StartFlow, Wait};
use client::{Client, Endpoint};
use node::bootstrap::{NetworkSpec, bootstrap, load_node_dir};
use node::{Apps, Node};
use serde_json::json;

/// A bank that is its own notary: everything it does stays in the process.
const ALONE: &str = r#"
    [[node]]
    name = "O=Alone, L=London, C=GB"
    notary = true
"#;

async fn start(folder: &Path) -> (Node, Client) {
    start_with(folder, Apps::built_in().expect("cash")).await
}

async fn start_with(folder: &Path, apps: Apps) -> (Node, Client) {
    let files = load_node_dir(folder).expect("bootstrapped");
    let node = Node::start(files, apps).await.expect("it starts");
    let client = client_of(folder, &node);
    (node, client)
}

fn client_of(folder: &Path, node: &Node) -> Client {
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect(name);
    let client = Client::new(Endpoint {
        address: node.api_address().to_string(),
        server_name: "localhost".to_owned(),
        root_pem: read("root.pem"),
        token: read("api-token").trim().into(),
    });
    client.expect("a good endpoint")
}

async fn run(client: &Client, flow: &str, quantity: u64) -> Outcome {
    let arguments = json!({ "currency": "GBP", "quantity": quantity });
    let start = StartFlow::new(flow, &arguments).expect("arguments");
    let outcome = client.start(&start.wait(Wait::Delivered)).await;
    let outcome = outcome.expect("the node takes the start");
    assert_eq!(outcome.status, FlowStatus::Delivered, "{outcome:?}");
    outcome
}

/// Polls until `probe` returns a value.
async fn until<T>(what: &str, mut probe: impl AsyncFnMut() -> Option<T>) -> T {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(value) = probe().await {
            return value;
        }
        assert!(Instant::now() < end, "not in time: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The value of a line of `/metrics`, by its name and labels.
fn value(text: &str, metric: &str) -> f64 {
    let found = text
        .lines()
        .find_map(|line| line.strip_prefix(metric)?.strip_prefix(' '));
    let number = found.unwrap_or_else(|| panic!("{metric} is not in\n{text}"));
    number.parse().expect("a number")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn metrics_show_what_was_done_and_a_restart_knows_it_at_once() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let description = folder.path().join("NETWORK.toml");
    std::fs::write(&description, ALONE).expect("written");
    let out = folder.path().join("out");
    let spec = NetworkSpec::read(&description).expect("a description");
    bootstrap(&spec, &out).expect("bootstrapped");

    let (node, client) = start(&out.join("alone")).await;
    run(&client, "cash.issue", 100).await;
    run(&client, "cash.exit", 40).await;
    let text = client.metrics().await.expect("readable");
    for (metric, expected) in [
        ("tally_flows_started_total", 2.0),
        ("tally_flows_done_total{side=\"initiating\"}", 2.0),
        ("tally_flows_failed_total{side=\"initiating\"}", 0.0),
        ("tally_flows_in_flight", 0.0),
        ("tally_flow_seconds_count{side=\"initiating\"}", 2.0),
        ("tally_transactions_recorded_total", 2.0),
        ("tally_ledger_seq", 2.0),
        ("tally_notary_requests_total{verdict=\"signed\"}", 1.0),
        ("tally_notary_batch_requests_count", 1.0),
        ("tally_notary_batch_requests_sum", 1.0),
        ("tally_notary_batch_seconds_count", 1.0),
        ("tally_notary_states_total", 1.0),
    ] {
        assert_eq!(value(&text, metric), expected, "{metric} in\n{text}");
    }
    for metric in [
        "tally_step_seconds_count",
        "tally_commit_seconds_sum",
        "tally_commit_bytes_sum",
        "tally_cache_bytes{cache=\"transactions\"}",
        "tally_cache_bytes{cache=\"known_signatures\"}",
        "tally_cache_bytes{cache=\"keys\"}",
        "tally_cache_budget_bytes{cache=\"transactions\"}",
        "tally_cache_budget_bytes{cache=\"blocks\"}",
        "tally_cache_lookups_total{cache=\"known_signatures\",result=\"hit\"}",
    ] {
        assert!(value(&text, metric) > 0.0, "{metric} in\n{text}");
    }
    node.stop().await;

    let (node, client) = start(&out.join("alone")).await;
    assert_eq!(client.node().await.expect("readable").ledger_seq, 2);
    let text = client.metrics().await.expect("readable");
    assert_eq!(value(&text, "tally_ledger_seq"), 2.0);
    assert_eq!(value(&text, "tally_flows_started_total"), 0.0);
    node.stop().await;
}
