//! Flows that do not finish: found, paused over a restart, resumed, by the API and from the command line.

use api::{FlowOrder, FlowQuery, FlowStatus, FlowSummary, StartFlow, Wait};
use client::{Client, FlowAction};
use perf::topology::Who;
use serde_json::json;

use crate::stage::{self, A, B, cash};

async fn pay(client: &Client, quantity: u64, to: &str) -> String {
    let arguments = json!({
        "currency": "GBP",
        "deadline_ms": 600_000,
        "payments": [{ "to": to, "quantity": quantity }],
    });
    let start = StartFlow::new("cash.pay", &arguments)
        .expect("JSON")
        .wait(Wait::None);
    client.start(&start).await.expect("accepted").flow_id
}

async fn found(client: &Client, flow_id: &str) -> Option<FlowSummary> {
    let query = FlowQuery {
        flow: Some("cash.pay".to_owned()),
        ..FlowQuery::default()
    };
    let list = client.flows_where(&query, None, 100).await.ok()?;
    list.flows.into_iter().find(|flow| flow.flow_id == flow_id)
}

async fn waits_for(client: &Client, flow_id: &str, what: &str) -> FlowSummary {
    stage::eventually(what, async || {
        let flow = found(client, flow_id).await?;
        let waits = flow.waits.iter().any(|wait| wait.what == what);
        waits.then_some(flow)
    })
    .await
}

async fn ends_well(client: &Client, flow_id: &str) {
    stage::eventually("it ends", async || {
        let outcome = client.flow(flow_id, Wait::None, None).await.ok()?;
        assert_ne!(outcome.status, FlowStatus::Failed, "{outcome:?}");
        outcome.status.is_end().then_some(())
    })
    .await;
}

#[tokio::test]
async fn an_operator_finds_what_waits_and_pauses_it_over_a_restart() {
    let mut network = stage::network(&["A", "B"]);
    let a = stage::client(&network, A);
    let name_b = network.name(B).to_owned();
    let issue = cash::issue("GBP", 1_000).expect("arguments");
    stage::completes(&a, issue, Wait::Delivered).await;

    network.kill(Who::Notary);
    let first = pay(&a, 600, &name_b).await;
    let asking = waits_for(&a, &first, "request").await;
    assert!(asking.waits[0].peer.is_some() && asking.started_at_ms.is_some());
    // The only coin is taken: this one waits for the change.
    let second = pay(&a, 300, &name_b).await;
    waits_for(&a, &second, "select states").await;

    let journal = a.flow_journal(&first, None, 100).await.expect("readable");
    assert_eq!(journal.entries[0].entry, "start");
    let arguments = journal.entries[0].value.as_ref().expect("known").get();
    assert!(arguments.contains("GBP"), "{arguments}");
    let text = serde_json::to_string(&journal).expect("JSON");
    assert!(!text.contains("seed"), "{text}");

    // A flow that waits for the notary's signature cannot be cancelled; the other flow can be paused.
    let kept = a.cancel(&first).await.expect_err("it waits");
    assert_eq!(kept.code(), "node.kill_pending");
    let paused = a.order_flow(FlowAction::Pause, &second).await;
    assert_eq!(paused.expect("paused").status, FlowStatus::Paused);
    let again = a.order_flow(FlowAction::Pause, &second).await;
    let again = again.expect_err("paused already");
    assert_eq!(again.code(), "node.flow_stands_otherwise");
    let unknown = a.order_flow(FlowAction::Retry, &"0".repeat(32)).await;
    assert_eq!(unknown.expect_err("none").code(), "node.unknown_flow");

    network.restart(A).expect("it comes back");
    let a = stage::client(&network, A);
    let all = FlowQuery {
        status: Some(FlowStatus::Paused),
        ..FlowQuery::default()
    };
    let mut order = FlowOrder {
        query: all,
        dry_run: true,
        after: None,
    };
    let dry = a.order_flows(FlowAction::Resume, &order).await;
    let dry = dry.expect("counted");
    assert_eq!((dry.matched, dry.done), (1, 0));
    assert_eq!(dry.flows, std::slice::from_ref(&second));

    network.start(Who::Notary).expect("it comes back");
    order.dry_run = false;
    let done = a.order_flows(FlowAction::Resume, &order).await;
    assert_eq!(done.expect("done").done, 1);
    // The first flow was ordered to end: it recorded the transaction that the notary signed, and ended as killed or finalised.
    stage::eventually("the first ends", async || {
        let outcome = a.flow(&first, Wait::None, None).await.ok()?;
        outcome.status.is_end().then_some(())
    })
    .await;
    ends_well(&a, &second).await;
}
