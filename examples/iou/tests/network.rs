//! Two nodes and a notary as real processes: an IOU is issued, settled in two payments, and both nodes agree.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use api::{FlowStatus, StartFlow, Wait};
use client::Client;
use perf::topology::{Network, NetworkOptions, Who};
use serde_json::{Value, json};

/// Starts a flow and waits until all participants have its transaction; its result, or the code it failed with.
async fn run(client: &Client, flow: &str, args: Value) -> Result<Value, String> {
    let start = StartFlow::new(flow, &args).expect("arguments");
    let start = start.wait(Wait::Delivered).timeout_ms(60_000);
    match client.start_at_endpoint(&start).await {
        Err(error) => {
            assert!(error.failed_flow().is_some(), "{error}");
            Err(error.code().to_owned())
        }
        Ok(outcome) => {
            assert_eq!(outcome.status, FlowStatus::Delivered);
            let result = outcome.result.expect("a result");
            Ok(serde_json::from_str(result.get()).expect("JSON"))
        }
    }
}

/// The IOUs in a node's vault, by their linear ids.
async fn ious(client: &Client) -> Vec<String> {
    let page = client.states(None, 100).await.expect("readable");
    let states = page.states.into_iter();
    let ious = states.filter(|state| state.contract == "example.iou");
    ious.filter_map(|state| state.linear_id).collect()
}

#[tokio::test]
async fn an_iou_is_issued_and_settled_in_two_payments() {
    let binary = env!("CARGO_BIN_EXE_iou").into();
    let network = Network::bring_up(&NetworkOptions::two_banks(binary)).expect("it comes up");
    let lender = network.client(Who::Bank(0)).expect("a client");
    let borrower = network.client(Who::Bank(1)).expect("a client");
    let (a, b) = (network.name(Who::Bank(0)), network.name(Who::Bank(1)));

    // Flows of an application have endpoints like all others, described by their types.
    let document = borrower.openapi().await.expect("readable");
    let endpoint = &document["paths"]["/v1/flows/iou.issue"]["post"];
    assert_eq!(endpoint["operationId"], "startIouIssue");
    assert_eq!(endpoint["x-permission"], "flow.start:iou.issue");
    let schemas = &document["components"]["schemas"];
    let arguments = &schemas["IouIssueArguments"];
    assert_eq!(
        arguments["required"],
        json!(["lender", "currency", "quantity"])
    );
    let result = &schemas["IouIssueOutcome"]["properties"]["result"]["$ref"];
    assert_eq!(result, "#/components/schemas/IouResult");
    assert_eq!(
        schemas["IouResult"]["required"],
        json!(["id", "transaction", "owed"])
    );

    // The borrower promises, the lender pays the money out.
    let owes = json!({ "lender": a, "currency": "GBP", "quantity": 10_000 });
    let issued = run(&borrower, "iou.issue", owes).await.expect("issued");
    let loan = json!({ "currency": "GBP", "quantity": 10_000, "recipient": b });
    run(&lender, "cash.issue_and_pay", loan)
        .await
        .expect("paid");
    let id = issued["id"].as_str().expect("an id");
    assert_eq!(ious(&lender).await, [id]);
    assert_eq!(ious(&borrower).await, [id]);

    let part = json!({ "transaction": issued["transaction"], "quantity": 4_000 });
    let settled = run(&borrower, "iou.settle", part.clone()).await;
    let settled = settled.expect("settled in part");
    assert_eq!(
        (settled["id"].as_str(), &settled["owed"]),
        (Some(id), &json!("6000"))
    );
    assert_eq!(ious(&lender).await, [id]);

    for (flow, args, code) in [
        (
            "iou.settle",
            json!({ "transaction": "0".repeat(64) }),
            "iou.unknown",
        ),
        (
            "iou.settle",
            json!({ "transaction": settled["transaction"], "quantity": 6_001 }),
            "iou.too_much",
        ),
        ("iou.settle", part, "notary.conflict"),
        (
            "iou.issue",
            json!({ "lender": b, "currency": "GBP", "quantity": 1 }),
            "iou.lender_unknown",
        ),
        (
            "iou.issue",
            json!({ "lender": a, "currency": "GBP", "quantity": 0 }),
            "tx.contract_rejected",
        ),
    ] {
        let refused = run(&borrower, flow, args).await;
        assert_eq!(refused.expect_err("refused"), code);
    }

    let rest = json!({ "transaction": settled["transaction"] });
    let settled = run(&borrower, "iou.settle", rest).await.expect("settled");
    assert_eq!(settled["owed"], "0");
    for client in [&lender, &borrower] {
        assert!(ious(client).await.is_empty());
    }
}

#[tokio::test]
async fn an_iou_is_settled_on_its_day_by_a_borrower_who_was_away() {
    const DUE_MS: u64 = 4_000;
    let binary = env!("CARGO_BIN_EXE_iou").into();
    let mut network = Network::bring_up(&NetworkOptions::two_banks(binary)).expect("it comes up");
    let lender = network.client(Who::Bank(0)).expect("a client");
    let borrower = network.client(Who::Bank(1)).expect("a client");
    let (a, b) = (network.name(Who::Bank(0)), network.name(Who::Bank(1)));
    let loan = json!({ "currency": "GBP", "quantity": 700, "recipient": b });
    run(&lender, "cash.issue_and_pay", loan)
        .await
        .expect("paid");
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = u64::try_from(now.expect("after 1970").as_millis()).expect("some time yet");
    let due = now + DUE_MS;
    let owes = json!({ "lender": a, "currency": "GBP", "quantity": 700, "due": due });
    run(&borrower, "iou.issue", owes).await.expect("issued");
    for client in [&lender, &borrower] {
        let waiting = client.schedule(None, 10).await.expect("readable").entries;
        assert_eq!(waiting.len(), 1);
        assert_eq!(
            (waiting[0].flow.as_str(), waiting[0].at_ms),
            ("iou.settle_due", due)
        );
    }
    network.kill(Who::Bank(1));
    // The lender's node has looked at it on the day, and found that it is not its business.
    let end = Instant::now() + Duration::from_secs(60);
    while !lender
        .schedule(None, 10)
        .await
        .expect("readable")
        .entries
        .is_empty()
    {
        assert!(Instant::now() < end, "the day has come");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(ious(&lender).await.len(), 1);
    network.start(Who::Bank(1)).expect("it comes back");
    while !ious(&lender).await.is_empty() {
        assert!(Instant::now() < end, "the borrower pays when it is back");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let borrower = network.client(Who::Bank(1)).expect("a client");
    assert!(ious(&borrower).await.is_empty());
    let balances = lender.balances().await.expect("readable").balances;
    assert_eq!(balances.len(), 1);
    assert_eq!(balances[0].quantity, "700");
}
