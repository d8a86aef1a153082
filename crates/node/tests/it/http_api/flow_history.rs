//! Flows that have ended, over HTTP: lists of them, and questions for one.

use api::{FlowHistoryQuery, FlowStatus, Wait, operations};
use flow::FlowId;
use kernel::HistoryEnd;

use crate::http_api::fake_history::{failure, row};
use crate::http_api::fixture::Fixture;
use crate::http_api::users::{add, call, with_users};

/// Starts a flow as a user, and returns its id, which names the user.
async fn flow_of(fixture: &Fixture, user: &str) -> FlowId {
    let start = r#"{"flow":"echo","args":1}"#;
    let started = call(fixture, user, "POST", operations::START_FLOW.path, start).await;
    let started = started.json();
    let id = started["flow_id"].as_str().expect("an id");
    id.parse().expect("a flow id")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_history_is_listed_in_pages() {
    let fixture = Fixture::new().await;
    let client = fixture.client();
    let ends = [
        HistoryEnd::Output(Vec::new()),
        failure("a.b"),
        failure("flow.killed"),
    ];
    for (number, end) in (1..).zip(ends) {
        fixture.fake.history.add(row(FlowId([number; 16]), end));
    }
    let all = FlowHistoryQuery::default();
    let first = client.flow_history(&all, None, 2).await.expect("a page");
    let statuses: Vec<FlowStatus> = first.flows.iter().map(|flow| flow.status).collect();
    assert_eq!(statuses, [FlowStatus::Killed, FlowStatus::Failed]);
    let rest = client.flow_history(&all, first.next.as_deref(), 2).await;
    let rest = rest.expect("a page");
    assert_eq!((rest.flows.len(), rest.next), (1, None));
    assert_eq!(rest.flows[0].status, FlowStatus::Finalised);
    let failed = FlowHistoryQuery {
        failed: true,
        since_ms: Some(1),
        ..all
    };
    let failed = client.flow_history(&failed, None, 9).await.expect("a page");
    assert_eq!(failed.flows.len(), 2);

    let path = operations::LIST_FLOW_HISTORY.path;
    for (query, status) in [
        ("", 200),
        ("?failed=true&status=killed&limit=1", 200),
        (
            "?flow=cash.pay&code=a.b&user=ann&since_ms=1&until_ms=2",
            200,
        ),
        ("?status=running", 400),
        ("?failed=perhaps", 400),
        ("?since_ms=1d", 400),
        ("?after=00ff", 400),
        ("?older_than_ms=1", 400),
    ] {
        let reply = fixture
            .authorised("GET", &format!("{path}{query}"), "")
            .await;
        assert_eq!(reply.status, status, "{query}: {reply:?}");
        if status == 400 {
            assert_eq!(reply.json()["code"], "api.bad_parameter", "{query}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn users_see_their_own_ended_flows() {
    let folder = tempfile::tempdir().expect("a folder");
    let start = "flow.start";
    add(folder.path(), "ann", &[start, "flow.read"]);
    add(folder.path(), "bea", &[start, "flow.read"]);
    add(
        folder.path(),
        "boss",
        &[start, "flow.read", "flow.read.all"],
    );
    add(folder.path(), "eve", &["vault.balances"]);
    let fixture = with_users(folder.path()).await;
    let mut flows = Vec::new();
    for user in ["ann", "bea", "boss"] {
        let flow = flow_of(&fixture, user).await;
        fixture.fake.history.add(row(flow, failure("a.b")));
        flows.push(flow);
    }
    // A counterparty started it.
    fixture
        .fake
        .history
        .add(row(FlowId([9; 16]), failure("a.b")));
    let path = operations::LIST_FLOW_HISTORY.path;
    for (user, status, count) in [
        ("ann", 200, 1),
        ("bea", 200, 1),
        ("boss", 200, 4),
        ("eve", 403, 0),
    ] {
        let reply = call(&fixture, user, "GET", &format!("{path}?limit=9"), "").await;
        assert_eq!(reply.status, status, "{user}: {reply:?}");
        let listed = reply.json();
        let listed = listed["flows"].as_array().map_or(0, Vec::len);
        assert_eq!(listed, count, "{user}");
    }
    let of_ann = operations::GET_FLOW.at(&[&flows[0].to_string()]);
    for (user, status) in [("ann", 200), ("bea", 403), ("boss", 200), ("eve", 403)] {
        let reply = call(&fixture, user, "GET", &of_ann, "").await;
        assert_eq!(reply.status, status, "{user}: {reply:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_kernel_is_asked_only_for_live_flows_that_the_caller_may_see() {
    let folder = tempfile::tempdir().expect("a folder");
    let all = ["flow.start", "flow.read", "flow.read.all"];
    add(folder.path(), "ann", &all[..2]);
    add(folder.path(), "boss", &all);
    let fixture = with_users(folder.path()).await;
    // It is held, so it stays live.
    let hold = r#"{"flow":"hold","args":null,"timeout_ms":1}"#;
    let held = call(&fixture, "ann", "POST", operations::START_FLOW.path, hold).await;
    assert_eq!(held.status, 202, "{held:?}");
    for (user, query, asked_for) in [
        ("ann", "", Some("ann")),
        ("ann", "?user=ann", Some("ann")),
        ("ann", "?user=boss", None),
        ("boss", "?user=ann", Some("ann")),
    ] {
        let path = format!("{}{query}", operations::LIST_FLOWS.path);
        let reply = call(&fixture, user, "GET", &path, "").await;
        assert_eq!(reply.status, 200, "{user} {query}: {reply:?}");
        let listed = reply.json();
        let user_asked = listed["flows"][0]["user"].as_str();
        assert_eq!(user_asked, asked_for, "{user} {query}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flow_of_the_history_is_answered_like_one_in_memory() {
    let fixture = Fixture::new().await;
    let client = fixture.client();
    let id = |number: u8| FlowId([number; 16]);
    let ends = [
        (1, HistoryEnd::Output(vec![7])),
        (2, failure("a.b")),
        (3, HistoryEnd::LargeOutput(5_000)),
    ];
    for (number, end) in ends {
        fixture.fake.history.add(row(id(number), end));
    }
    let of = |number: u8| id(number).to_string();
    // Each line: the flow, its status, and the code of its error.
    for (number, status, code) in [
        (1, FlowStatus::Finalised, None),
        (2, FlowStatus::Failed, Some("a.b")),
        (3, FlowStatus::Finalised, Some("node.result_not_kept")),
    ] {
        let state = client
            .flow(&of(number), Wait::None, None)
            .await
            .expect("known");
        let told = state.error.as_ref().map(|error| error.code.as_str());
        assert_eq!((state.status, told), (status, code), "{number}");
        let record = state.record.expect("a record");
        assert_eq!(record.user.as_deref(), Some("ann"));
        assert_eq!(
            (record.started_at_ms, record.ended_at_ms),
            (Some(1_000), 2_000)
        );
        assert_eq!(record.result_bytes, (number == 3).then_some(5_000));

        let awaited = client.flow(&of(number), Wait::Delivered, None).await;
        match code {
            None => assert_eq!(awaited.expect("ended").status, FlowStatus::Delivered),
            Some(code) => assert_eq!(awaited.expect_err("no output").code(), code),
        }
        let mut events = client
            .follow_flow(&of(number), Wait::Delivered)
            .await
            .expect("events");
        let mut last = None;
        while let Some(event) = events.next().await.expect("an event") {
            last = Some(event.kind);
        }
        let expected = if number == 2 { "failed" } else { "end" };
        assert_eq!(last.as_deref(), Some(expected), "{number}");
    }
    let unknown = client.flow(&of(4), Wait::None, None).await;
    assert_eq!(unknown.expect_err("unknown").code(), "node.unknown_flow");
}
