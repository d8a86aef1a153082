//! The history of flows of a real node, over a restart.

use std::path::Path;

use api::{FlowHistory, FlowHistoryQuery, FlowStatus, StartFlow, Wait};
use client::{Client, ClientError};
use node::bootstrap::{NetworkSpec, bootstrap, load_node_dir};
use node::{Apps, Node};
use serde_json::json;

use crate::running::{ALONE, client_of, run, until};

async fn start(folder: &Path, history_flows: usize) -> (Node, Client) {
    let mut files = load_node_dir(folder).expect("bootstrapped");
    files.config.flows.history_flows = history_flows;
    let node = Node::start(files, Apps::built_in().expect("cash")).await;
    let node = node.expect("it starts");
    let client = client_of(folder, &node);
    (node, client)
}

/// Removes more cash than the node has. Returns the flow, which fails.
async fn fail(client: &Client) -> String {
    let arguments = json!({ "currency": "GBP", "quantity": 1_000_000 });
    let start = StartFlow::new("cash.exit", &arguments).expect("JSON");
    let failed = client.start(&start).await.expect_err("too much");
    failed.failed_flow().expect("a flow").to_owned()
}

async fn failed(client: &Client) -> FlowHistory {
    let query = FlowHistoryQuery {
        failed: true,
        ..FlowHistoryQuery::default()
    };
    client
        .flow_history(&query, None, 100)
        .await
        .expect("a page")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ended_flows_are_known_after_a_restart() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let description = folder.path().join("NETWORK.toml");
    std::fs::write(&description, ALONE).expect("written");
    let out = folder.path().join("out");
    let spec = NetworkSpec::read(&description).expect("a description");
    bootstrap(&spec, &out).expect("bootstrapped");
    let alone = out.join("alone");
    let (node, client) = start(&alone, 1_000_000).await;
    let issued = run(&client, "cash.issue", 100).await;
    let mut flows = Vec::new();
    for _ in 0..3 {
        flows.push(fail(&client).await);
    }
    let before = client.flow(&issued.flow_id, Wait::None, None).await;
    let before = before.expect("known").record.expect("in the history");
    node.stop().await;

    let (node, client) = start(&alone, 2).await;
    let known = client.flow(&issued.flow_id, Wait::Delivered, None).await;
    let known = known.expect("delivered");
    assert_eq!(known.status, FlowStatus::Delivered);
    assert_eq!(known.transactions, issued.transactions);
    assert_eq!(
        known.result.map(|json| json.get().to_owned()),
        issued.result.map(|json| json.get().to_owned())
    );
    let record = known.record.expect("in the history");
    assert_eq!(record, before);
    assert_eq!(record.flow.as_deref(), Some("cash.issue"));
    assert_eq!(record.user.as_deref(), Some("operator"));
    assert!(record.started_at_ms <= Some(record.ended_at_ms));
    let newest = &flows[2];
    let state = client.flow(newest, Wait::None, None).await.expect("known");
    assert_eq!(state.status, FlowStatus::Failed);
    let awaited = client.flow(newest, Wait::Finalised, None).await;
    assert_eq!(
        awaited.expect_err("it failed").code(),
        "vault.insufficient_funds"
    );

    // The limit is smaller than before the restart.
    let left = until("the oldest failure is deleted", async || {
        let left = failed(&client).await.flows;
        (left.len() == 2).then_some(left)
    });
    let left: Vec<String> = left.await.into_iter().map(|flow| flow.flow_id).collect();
    assert_eq!(left, [flows[2].clone(), flows[1].clone()]);
    let gone = client.flow(&flows[0], Wait::None, None).await;
    let gone = gone.map_err(|error: ClientError| error.code().to_owned());
    assert_eq!(gone.expect_err("deleted"), "node.unknown_flow");
    node.stop().await;
}
