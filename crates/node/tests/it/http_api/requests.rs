//! Single requests: good ones through the client, bad ones by hand, each with its status, code and hint.

use std::time::Duration;

use api::{FlowStatus, NodeState, StartFlow, Wait};
use client::{Client, Endpoint};
use serde_json::json;

use crate::http_api::fixture::{Fixture, TOKEN};

fn start(flow: &str) -> StartFlow {
    StartFlow::new(flow, &json!({ "a": 1 })).expect("JSON")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refused_requests_say_why_and_what_to_do() {
    let fixture = Fixture::with(|options| options.body_bytes_max = 2_000).await;
    let large = format!(r#"{{"flow":"echo","args":"{}"}}"#, "x".repeat(3_000));
    let long_id = format!(r#"{{"flow":"echo","client_id":"{}"}}"#, "x".repeat(129));
    // method, path, body -> status, code, part of the detail, part of the hint
    let table: &[(&str, &str, &str, u16, &str, &str, &str)] = &[
        (
            "POST",
            "/v1/flows",
            "",
            400,
            "api.bad_json",
            "EOF",
            "one JSON value",
        ),
        (
            "POST",
            "/v1/flows",
            "{\"flow\":",
            400,
            "api.bad_json",
            "column 8",
            "line and column",
        ),
        (
            "POST",
            "/v1/flows",
            "{\"flow\":\"echo\"} x",
            400,
            "api.bad_json",
            "trailing",
            "one JSON value",
        ),
        (
            "POST",
            "/v1/flows",
            "{}",
            422,
            "api.bad_request",
            "missing field `flow`",
            "compare the fields",
        ),
        (
            "POST",
            "/v1/flows",
            "[]",
            422,
            "api.bad_request",
            "",
            "compare the fields",
        ),
        (
            "POST",
            "/v1/flows",
            r#"{"flow":"echo","arg":1}"#,
            422,
            "api.bad_request",
            "unknown field `arg`",
            "names the field",
        ),
        (
            "POST",
            "/v1/flows",
            r#"{"flow":"echo","wait":"long"}"#,
            422,
            "api.bad_request",
            "`long`",
            "names the field",
        ),
        (
            "POST",
            "/v1/flows",
            r#"{"flow":"echo","client_id":""}"#,
            422,
            "api.bad_client_id",
            "1 to 128",
            "UUID",
        ),
        (
            "POST",
            "/v1/flows",
            &long_id,
            422,
            "api.bad_client_id",
            "129",
            "UUID",
        ),
        (
            "POST",
            "/v1/flows",
            &large,
            413,
            "api.body_too_large",
            "2000 bytes",
            "raise the limit",
        ),
        (
            "POST",
            "/v1/flows",
            r#"{"flow":"nope"}"#,
            422,
            "flow.unknown",
            "'nope'",
            "list the flows",
        ),
        (
            "POST",
            "/v1/flows",
            r#"{"flow":"picky"}"#,
            422,
            "flow.bad_arguments",
            "quantity",
            "give a quantity",
        ),
        (
            "POST",
            "/v1/flows",
            r#"{"flow":"busy"}"#,
            503,
            "node.busy",
            "as much work",
            "retry_after_ms",
        ),
        (
            "POST",
            "/v1/flows",
            r#"{"flow":"lost"}"#,
            503,
            "node.stopping",
            "stopped",
            "same client id",
        ),
        (
            "POST",
            "/v1/flows",
            r#"{"flow":"bug"}"#,
            500,
            "api.internal",
            "bug",
            "report the bug",
        ),
        (
            "GET",
            "/v1/flows/xyz",
            "",
            400,
            "api.bad_parameter",
            "flow id",
            "correct the parameter",
        ),
        (
            "GET",
            "/v1/flows/00000000000000000000000000000000",
            "",
            404,
            "node.unknown_flow",
            "",
            "client id",
        ),
        (
            "GET",
            "/v1/flows/00000000000000000000000000000000?wait=x",
            "",
            400,
            "api.bad_parameter",
            "",
            "correct",
        ),
        (
            "GET",
            "/v1/flows?limit=x",
            "",
            400,
            "api.bad_parameter",
            "limit",
            "correct the parameter",
        ),
        (
            "GET",
            "/v1/flows?offset=1",
            "",
            400,
            "api.bad_parameter",
            "offset",
            "correct the parameter",
        ),
        (
            "POST",
            "/v1/flows/00000000000000000000000000000000/cancel",
            "",
            404,
            "node.unknown_flow",
            "",
            "",
        ),
        (
            "DELETE",
            "/v1/clients/none",
            "",
            404,
            "node.unknown_client_id",
            "",
            "whose token",
        ),
        (
            "GET",
            "/v1/balances?timeout_ms=0",
            "",
            504,
            "node.view_behind",
            "at 41",
            "timeout_ms",
        ),
        (
            "GET",
            "/v1/states?after=x",
            "",
            400,
            "api.bad_parameter",
            "after: 'x' is not a whole number",
            "correct",
        ),
        (
            "GET",
            "/v1/transactions/12",
            "",
            400,
            "api.bad_parameter",
            "transaction id",
            "correct",
        ),
        (
            "GET",
            &format!("/v1/transactions/{}", "0".repeat(64)),
            "",
            404,
            "node.unknown_transaction",
            "not recorded",
            "participant",
        ),
        (
            "GET",
            "/v1/notary/consumed",
            "",
            404,
            "node.not_a_notary",
            "",
            "GET /v1/network",
        ),
        (
            "GET",
            "/v1/notary/consumed?after=12",
            "",
            400,
            "api.bad_parameter",
            "ID(INDEX)",
            "correct",
        ),
        (
            "GET",
            "/v1/nothing",
            "",
            404,
            "api.no_such_path",
            "/v1/nothing",
            "begins with /v1",
        ),
        (
            "PUT",
            "/v1/flows",
            "{}",
            405,
            "api.method_not_allowed",
            "PUT",
            "Allow",
        ),
    ];
    for (method, path, body, status, code, detail, hint) in table {
        let reply = fixture.authorised(method, path, body).await;
        let name = format!("{method} {path} {}: {reply:?}", &body[..body.len().min(60)]);
        assert_eq!(reply.status, *status, "{name}");
        assert!(
            reply
                .head
                .contains("content-type: application/problem+json"),
            "{name}"
        );
        let problem = reply.json();
        assert_eq!(
            (problem["code"].as_str(), problem["status"].as_u64()),
            (Some(*code), Some(u64::from(*status))),
            "{name}"
        );
        assert_eq!(problem["type"], format!("urn:tally:error:{code}"), "{name}");
        assert!(
            problem["detail"]
                .as_str()
                .is_some_and(|d| d.contains(detail)),
            "{name}"
        );
        assert!(
            problem["hint"]
                .as_str()
                .is_some_and(|h| h.to_lowercase().contains(&hint.to_lowercase())),
            "{name}"
        );
    }
    let text = fixture.metrics.render();
    assert!(
        text.contains("tally_http_requests_total{class=\"5xx\"} 4\n"),
        "{text}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn headers_of_refusals() {
    let fixture = Fixture::new().await;
    let busy = fixture
        .authorised("POST", "/v1/flows", r#"{"flow":"busy"}"#)
        .await;
    assert!(busy.head.contains("retry-after: 2"), "{busy:?}");
    assert_eq!(busy.json()["retry_after_ms"], 1_500);
    let method = fixture.authorised("DELETE", "/v1/flows", "").await;
    assert!(method.head.contains("allow: "), "{method:?}");
    let none = fixture.request("GET", "/v1/node", "", "").await;
    assert!(none.head.contains("www-authenticate: bearer"), "{none:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_health_needs_no_token() {
    let fixture = Fixture::new().await;
    let wrong = "authorization: Bearer wrong\r\n";
    for (path, headers, status) in [
        ("/health", "", 200),
        ("/health", wrong, 200),
        ("/metrics", "", 401),
        ("/metrics", wrong, 401),
        ("/v1/node", "", 401),
        ("/v1/node", "authorization: Basic x\r\n", 401),
        ("/v1/stream", "", 401),
        ("/v1/nothing", "", 404),
    ] {
        let method = if path == "/v1/stream" { "POST" } else { "GET" };
        let reply = fixture.request(method, path, headers, "").await;
        assert_eq!(reply.status, status, "{path} {headers} {reply:?}");
        if status == 401 {
            let problem = reply.json();
            assert_eq!(problem["code"], "api.unauthorised");
            assert!(
                problem["hint"]
                    .as_str()
                    .is_some_and(|hint| hint.contains("Authorization: Bearer"))
            );
        }
    }
    let endpoint = Endpoint {
        token: "wrong".into(),
        ..fixture.endpoint()
    };
    let error = Client::new(endpoint)
        .expect("a good endpoint")
        .node()
        .await
        .expect_err("401");
    assert_eq!(error.code(), "api.unauthorised");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn starts_end_as_their_flows_do() {
    let fixture = Fixture::new().await;
    let client = fixture.client();
    for (flow, wait, status, result) in [
        (
            "echo",
            Wait::Finalised,
            FlowStatus::Finalised,
            Some(r#"{"a":1}"#),
        ),
        (
            "echo",
            Wait::Delivered,
            FlowStatus::Delivered,
            Some(r#"{"a":1}"#),
        ),
        (
            "encoded",
            Wait::Finalised,
            FlowStatus::Finalised,
            Some(r#"{"bytes":[1,2],"flow":"encoded","version":3}"#),
        ),
        ("hold", Wait::None, FlowStatus::Accepted, None),
    ] {
        let outcome = client.start(&start(flow).wait(wait)).await.expect(flow);
        assert_eq!(
            (outcome.status, outcome.result.as_ref().map(|r| r.get())),
            (status, result),
            "{flow}"
        );
        assert_eq!(outcome.flow_id.len(), 32);
        if status == FlowStatus::Delivered {
            assert_eq!(outcome.transactions, ["07".repeat(32)]);
        }
    }
    let failed = client.start(&start("fail")).await.expect_err("it fails");
    assert_eq!(
        (failed.code(), failed.hint()),
        ("vault.insufficient_funds", "issue some")
    );
    assert_eq!(failed.failed_flow().map(str::len), Some(32));
    let failed = failed.into_outcome().expect("a flow");
    assert_eq!(failed.status, FlowStatus::Failed);
    // A flow that has succeeded says so, even if its result cannot be shown.
    let unshowable = start("unshowable");
    let by_request = client.start(&unshowable).await;
    let by_stream = client.stream().start(&unshowable).await;
    for error in [by_request, by_stream].map(|ended| ended.expect_err("no result")) {
        assert_eq!((error.code(), error.failed_flow()), ("api.internal", None));
        assert_eq!(error.flow_id().map(str::len), Some(32));
        let outcome = error.into_outcome().expect("a flow");
        assert_eq!(outcome.status, FlowStatus::Finalised);
    }
    // A bad argument has one shape of failure, whether the flow or the node refuses it.
    for (flow, names_flow) in [("fail", true), ("picky", false)] {
        let body = format!(r#"{{"flow":"{flow}","wait":"finalised"}}"#);
        let reply = fixture.authorised("POST", "/v1/flows", &body).await;
        assert_eq!(reply.status, 422, "{reply:?}");
        assert!(reply.head.contains("application/problem+json"), "{reply:?}");
        let problem = reply.json();
        assert_eq!(problem["flow_id"].is_string(), names_flow, "{problem}");
        assert_eq!(
            problem["flow_status"] == json!("failed"),
            names_flow,
            "{problem}"
        );
    }
    let reply = fixture
        .authorised("POST", "/v1/flows", r#"{"flow":"hold","wait":"none"}"#)
        .await;
    assert_eq!(reply.status, 202);
    let id = reply.json()["flow_id"].as_str().expect("an id").to_owned();
    assert!(
        reply.head.contains(&format!("location: /v1/flows/{id}")),
        "{reply:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wait_that_is_over_names_the_flow_and_leaves_nothing_behind() {
    let fixture = Fixture::new().await;
    let client = fixture.client();
    let hold = start("hold").timeout_ms(1);
    let outcome = client.start(&hold).await.expect("accepted");
    assert_eq!(
        (outcome.status, outcome.step.as_deref()),
        (FlowStatus::Running, Some("holding"))
    );
    assert_eq!((fixture.fake.detached(), fixture.fake.held()), (1, 0));
    let again = client
        .flow(&outcome.flow_id, Wait::Finalised, Some(1))
        .await
        .expect("it runs");
    assert_eq!(
        (again.flow_id, again.status),
        (outcome.flow_id.clone(), FlowStatus::Running)
    );
    assert_eq!((fixture.fake.detached(), fixture.fake.held()), (2, 0));

    // With a client id the answer names the first flow of that id, of this user.
    let hold = hold.client_id("x/1");
    let first = client.start(&hold).await.expect("accepted");
    let second = client.start(&hold).await.expect("accepted");
    assert_eq!(first.flow_id, second.flow_id);
    client.forget_client_id("x/1").await.expect("known");
    assert_eq!(
        client
            .forget_client_id("x/1")
            .await
            .expect_err("forgotten")
            .code(),
        "node.unknown_client_id"
    );

    let waiting = client.clone();
    let id = outcome.flow_id.clone();
    let task = tokio::spawn(async move { waiting.flow(&id, Wait::Finalised, None).await });
    crate::http_api::fixture::until("the wait arrives", || fixture.fake.held() == 1).await;
    let listed = client.flows(None, 2).await.expect("a list");
    assert_eq!((listed.flows.len(), listed.next.is_some()), (2, true));
    let rest = client
        .flows(listed.next.as_deref(), 2)
        .await
        .expect("a list");
    assert_eq!((rest.flows.len(), rest.next), (0, None));
    let cancelled = client.cancel(&outcome.flow_id).await.expect("known");
    assert_eq!(
        cancelled.error.map(|error| error.code).as_deref(),
        Some("flow.killed")
    );
    assert_eq!(cancelled.status, FlowStatus::Killed);
    let ended = task.await.expect("no panic").expect_err("it was killed");
    assert_eq!(ended.failed_flow(), Some(outcome.flow_id.as_str()));
    let ended = ended.into_outcome().expect("a flow");
    assert_eq!(ended.status, FlowStatus::Killed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads() {
    let fixture = Fixture::new().await;
    let client = fixture.client();
    let balances = client.balances().await.expect("balances");
    assert_eq!(balances.balances[0].quantity.parse::<u128>(), Ok(u128::MAX));
    let mut after = None;
    let mut count = 0;
    loop {
        let page = client.ledger(after, 20_000).await.expect("a page");
        assert!(page.entries.len() <= 10_000, "pages are bounded");
        count += page.entries.len();
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(count, 25_000);
    assert_eq!(
        client.states(Some(5), 10).await.expect("a page").next,
        Some(15)
    );
    let reference = format!("{}(3)", "ab".repeat(32));
    let consumed = client.consumed(Some(&reference), 10).await.expect("a page");
    assert_eq!(consumed.entries[0].state_ref, reference);
    assert_eq!(
        client.node().await.expect("the node").state,
        NodeState::Ready
    );
    assert_eq!(
        client.network().await.expect("the network").notaries.len(),
        1
    );
    assert!(
        client
            .metrics()
            .await
            .expect("text")
            .contains("# TYPE tally_http_connections gauge\ntally_http_connections 1\n")
    );
    assert_eq!(
        client.drain().await.expect("accepted").state,
        NodeState::Draining
    );
    let health = client.health().await.expect("an answer");
    assert_eq!((health.live, health.ready), (true, false));
    assert_eq!(fixture.request("GET", "/health", "", "").await.status, 503);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_client_uses_the_address_that_answers() {
    let fixture = Fixture::new().await;
    let good = fixture.endpoint();
    // The system takes connections for it, as for a process that is stopped.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let silent = silent.local_addr().expect("bound").to_string();
    for others in [
        vec!["127.0.0.1:1", &good.address],
        vec![&silent, &good.address],
        vec![&silent, "127.0.0.1:1", &good.address],
        vec![&good.address, &silent],
    ] {
        let client = Client::new(Endpoint {
            address: others.join(", "),
            ..good.clone()
        });
        client.expect("parses").node().await.expect("it answers");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_finds_the_process_that_takes_over() {
    let fixture = Fixture::new().await;
    let good = fixture.endpoint();
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    // A port that refuses until the second process listens there.
    let later = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let second = later.local_addr().expect("bound");
    drop(later);
    let client = Client::new(Endpoint {
        address: format!("{},{second}", silent.local_addr().expect("bound")),
        ..good.clone()
    });
    let client = client.expect("parses");
    let asked = tokio::spawn(async move { client.node().await });
    // The first connection has been tried. It stays open, so that the client has no answer from there.
    let _held = silent.accept().expect("the client connects");
    let listener = tokio::net::TcpListener::bind(second).await.expect("free");
    let tried = tokio::time::timeout(Duration::from_secs(60), listener.accept()).await;
    let (mut near, _) = tried
        .expect("in time")
        .expect("the client tries the second address again");
    let mut far = tokio::net::TcpStream::connect(&good.address)
        .await
        .expect("it listens");
    tokio::spawn(async move { tokio::io::copy_bidirectional(&mut near, &mut far).await });
    asked.await.expect("no panic").expect("it answers");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn errors_of_the_client_itself() {
    let fixture = Fixture::new().await;
    let other = Fixture::new().await;
    let good = fixture.endpoint();
    let unreachable = Endpoint {
        address: "127.0.0.1:1".into(),
        ..good.clone()
    };
    let stranger = Endpoint {
        root_pem: other.root_pem.clone(),
        ..good.clone()
    };
    let misnamed = Endpoint {
        server_name: "p11.party.tally".into(),
        ..good.clone()
    };
    for (endpoint, code) in [
        (unreachable, "client.not_connected"),
        (stranger, "client.not_trusted"),
        (misnamed, "client.not_trusted"),
    ] {
        let error = Client::new(endpoint)
            .expect("parses")
            .node()
            .await
            .expect_err(code);
        assert!(error.code() == code && !error.hint().is_empty(), "{error}");
    }
    for endpoint in [
        Endpoint {
            root_pem: "no PEM".into(),
            ..good.clone()
        },
        Endpoint {
            server_name: "no name!".into(),
            ..good.clone()
        },
        Endpoint {
            token: "new\nline".into(),
            ..good.clone()
        },
    ] {
        let error = Client::new(endpoint).err().expect("bad");
        assert_eq!(error.code(), "client.bad_endpoint");
        assert!(!format!("{error:?}").contains(TOKEN));
    }
    assert!(!format!("{good:?}").contains(TOKEN));
    let hasty = fixture.client_with(|limits| limits.call_timeout = Duration::from_millis(1));
    let error = hasty.start(&start("hold")).await.expect_err("too slow");
    assert!(
        error.code() == "client.timeout" && error.is_outcome_unknown(),
        "{error}"
    );
}
