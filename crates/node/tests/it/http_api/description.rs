//! The API's description tells the truth: every route is in it and nothing else, and answers have the forms it gives.

use std::collections::BTreeSet;

use api::operations;
use serde_json::Value;

use crate::http_api::fixture::{Fixture, filled};
use crate::http_api::schema::faults;

const NO_FLOW: &str = "00000000000000000000000000000000";

async fn document(fixture: &Fixture) -> Value {
    let reply = fixture
        .authorised("GET", operations::OPENAPI.path, "")
        .await;
    assert_eq!(reply.status, 200);
    reply.json()
}

/// The methods that the document has at a path.
fn methods(document: &Value, path: &str) -> BTreeSet<String> {
    let methods = document["paths"][path].as_object().expect(path).keys();
    methods.map(|method| method.to_uppercase()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_route_is_described_and_every_description_is_a_route() {
    let fixture = Fixture::new().await;
    let document = document(&fixture).await;
    let described = document["paths"].as_object().expect("paths");
    for path in described.keys() {
        let real = filled(path, NO_FLOW);
        let reply = fixture.authorised("TRACE", &real, "").await;
        assert_eq!(reply.status, 405, "{path} is no route");
        let allowed = reply
            .head
            .lines()
            .find_map(|line| line.strip_prefix("allow: "));
        let allowed = allowed
            .unwrap_or_default()
            .split(',')
            .map(|m| m.trim().to_uppercase());
        // Every route for GET also answers HEAD.
        let allowed: BTreeSet<String> = allowed.filter(|method| method != "HEAD").collect();
        let mut expected = methods(&document, path);
        // One route serves a flow by its id and the start of one by its name.
        if *path == operations::GET_FLOW.path {
            expected.insert("POST".to_owned());
        } else if is_endpoint(&document, path) {
            expected.insert("GET".to_owned());
        }
        assert_eq!(allowed, expected, "{path}");
    }
}

/// Whether a path is the endpoint of one flow.
fn is_endpoint(document: &Value, path: &str) -> bool {
    document["paths"][path]["post"]["x-flow"].is_string()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_have_the_forms_described() {
    let fixture = Fixture::new().await;
    let document = document(&fixture).await;
    let tx = "07".repeat(32);
    // method, path as described, path, body -> status
    let table: &[(&str, &str, &str, &str, u16)] = &[
        (
            "POST",
            operations::START_FLOW.path,
            operations::START_FLOW.path,
            r#"{"flow":"echo","args":{"a":[1]}}"#,
            200,
        ),
        (
            "POST",
            operations::START_FLOW.path,
            operations::START_FLOW.path,
            r#"{"flow":"fail"}"#,
            422,
        ),
        (
            "POST",
            operations::START_FLOW.path,
            operations::START_FLOW.path,
            r#"{"flow":"hold","timeout_ms":1}"#,
            202,
        ),
        (
            "POST",
            operations::START_FLOW.path,
            operations::START_FLOW.path,
            r#"{"flow":"#,
            400,
        ),
        (
            "POST",
            operations::START_FLOW.path,
            operations::START_FLOW.path,
            r#"{"flow":"picky"}"#,
            422,
        ),
        (
            "POST",
            operations::START_FLOW.path,
            operations::START_FLOW.path,
            r#"{"flow":"busy"}"#,
            503,
        ),
        (
            "POST",
            operations::START_FLOW.path,
            operations::START_FLOW.path,
            r#"{"flow":"bug"}"#,
            500,
        ),
        (
            "POST",
            "/v1/flows/test.echo",
            "/v1/flows/test.echo?client_id=a",
            "{}",
            200,
        ),
        (
            "POST",
            "/v1/flows/test.fail",
            "/v1/flows/test.fail",
            "",
            422,
        ),
        (
            "POST",
            "/v1/flows/test.hold",
            "/v1/flows/test.hold?timeout_ms=1",
            "[1]",
            202,
        ),
        (
            "POST",
            "/v1/flows/test.echo",
            "/v1/flows/test.echo",
            "{",
            400,
        ),
        (
            "POST",
            "/v1/flows/test.echo",
            "/v1/flows/test.echo?wait=long",
            "{}",
            400,
        ),
        (
            "POST",
            "/v1/flows/test.echo",
            "/v1/flows/test.echo?client_id=",
            "{}",
            400,
        ),
        (
            "GET",
            operations::START_FLOW.path,
            "/v1/flows?limit=1",
            "",
            200,
        ),
        (
            "GET",
            operations::START_FLOW.path,
            "/v1/flows?limit=x",
            "",
            400,
        ),
        (
            "POST",
            operations::START_FLOWS.path,
            operations::START_FLOWS.path,
            r#"{"starts":[{"flow":"echo"},{"flow":"busy"},{}]}"#,
            200,
        ),
        (
            "POST",
            operations::START_FLOWS.path,
            operations::START_FLOWS.path,
            r#"{"starts":[]}"#,
            422,
        ),
        (
            "GET",
            operations::GET_FLOW.path,
            "/v1/flows/00000000000000000000000000000000",
            "",
            404,
        ),
        (
            "GET",
            operations::FOLLOW_FLOW.path,
            "/v1/flows/00000000000000000000000000000000/events",
            "",
            404,
        ),
        ("GET", operations::GET_FLOW.path, "/v1/flows/%ff", "", 400),
        (
            "POST",
            operations::CANCEL_FLOW.path,
            "/v1/flows/00/cancel",
            "",
            400,
        ),
        (
            "DELETE",
            operations::FORGET_CLIENT_ID.path,
            "/v1/clients/nobody",
            "",
            404,
        ),
        (
            "GET",
            operations::BALANCES.path,
            operations::BALANCES.path,
            "",
            200,
        ),
        (
            "GET",
            operations::BALANCES.path,
            "/v1/balances?timeout_ms=0",
            "",
            504,
        ),
        (
            "GET",
            operations::PEER_HISTORY.path,
            "/v1/peers/history?peer=O%3DB%2C%20L%3DB%2C%20C%3DGB&limit=5",
            "",
            200,
        ),
        (
            "GET",
            operations::PEER_HISTORY.path,
            "/v1/peers/history?limit=x",
            "",
            400,
        ),
        (
            "GET",
            operations::STATES.path,
            "/v1/states?after=3",
            "",
            200,
        ),
        (
            "GET",
            operations::FOLLOW_VAULT.path,
            "/v1/vault/events?after=x",
            "",
            400,
        ),
        (
            "GET",
            operations::TRANSACTION.path,
            &format!("/v1/transactions/{tx}"),
            "",
            404,
        ),
        (
            "GET",
            operations::LEDGER.path,
            "/v1/ledger?limit=2",
            "",
            200,
        ),
        (
            "GET",
            operations::TRANSACTION_BYTES.path,
            &format!("/v1/transactions/{tx}/bytes"),
            "",
            404,
        ),
        (
            "GET",
            operations::TRANSACTION_CHAIN.path,
            &format!("/v1/transactions/{tx}/chain?after=4&limit=1"),
            "",
            200,
        ),
        (
            "GET",
            operations::NOTES.path,
            &format!("/v1/transactions/{tx}/notes"),
            "",
            200,
        ),
        (
            "POST",
            operations::NOTES.path,
            &format!("/v1/transactions/{tx}/notes"),
            r#"{"text":"seen"}"#,
            201,
        ),
        (
            "POST",
            operations::NOTES.path,
            &format!("/v1/transactions/{tx}/notes"),
            r#"{"text":""}"#,
            422,
        ),
        (
            "DELETE",
            operations::REMOVE_NOTE.path,
            &format!("/v1/transactions/{tx}/notes/{}", "01".repeat(12)),
            "",
            404,
        ),
        (
            "DELETE",
            operations::REMOVE_NOTE.path,
            &format!("/v1/transactions/{tx}/notes/1"),
            "",
            400,
        ),
        (
            "GET",
            operations::SCHEDULE.path,
            operations::SCHEDULE.path,
            "",
            200,
        ),
        (
            "GET",
            operations::SCHEDULE.path,
            "/v1/schedule?after=00",
            "",
            400,
        ),
        (
            "GET",
            operations::CONSUMED.path,
            operations::CONSUMED.path,
            "",
            404,
        ),
        (
            "GET",
            operations::CONSUMED.path,
            &format!("/v1/notary/consumed?after={tx}(0)"),
            "",
            200,
        ),
        ("GET", operations::NODE.path, operations::NODE.path, "", 200),
        (
            "GET",
            operations::NETWORK.path,
            operations::NETWORK.path,
            "",
            200,
        ),
        (
            "GET",
            operations::HEALTH.path,
            operations::HEALTH.path,
            "",
            200,
        ),
        (
            "GET",
            operations::METRICS.path,
            operations::METRICS.path,
            "",
            200,
        ),
        ("GET", operations::DOCS.path, operations::DOCS.path, "", 200),
        (
            "POST",
            operations::DRAIN.path,
            operations::DRAIN.path,
            "",
            202,
        ),
        (
            "POST",
            operations::CONFIRM_CLOCK.path,
            operations::CONFIRM_CLOCK.path,
            "",
            200,
        ),
        (
            "GET",
            operations::HEALTH.path,
            operations::HEALTH.path,
            "",
            503,
        ),
    ];
    for (method, path, real, body, status) in table {
        let reply = fixture.authorised(method, real, body).await;
        assert_eq!(reply.status, *status, "{real} {body} {reply:?}");
        check(&document, method, path, &reply);
    }
    for path in document["paths"].as_object().expect("paths").keys() {
        for method in methods(&document, path) {
            if document["paths"][path][method.to_lowercase()]["security"].is_null() {
                let reply = fixture
                    .request(&method, &filled(path, NO_FLOW), "", "")
                    .await;
                assert_eq!(reply.status, 401, "{method} {path} {reply:?}");
                check(&document, &method, path, &reply);
            }
        }
    }
}

fn check(document: &Value, method: &str, path: &str, reply: &crate::http_api::fixture::Reply) {
    let operation = &document["paths"][path][method.to_lowercase()];
    let answer = &operation["responses"][reply.status.to_string()];
    let kind = reply
        .head
        .lines()
        .find_map(|line| line.strip_prefix("content-type: "));
    let kind = kind
        .and_then(|kind| kind.split(';').next())
        .expect("a media type");
    let content = &answer["content"][kind];
    assert!(
        content.is_object(),
        "{method} {path} {} {kind} is not described",
        reply.status
    );
    if kind.ends_with("json") {
        let found = faults(document, &content["schema"], &reply.json());
        assert!(found.is_empty(), "{method} {path}: {found:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_asks_nobody_else_and_runs_nothing_else() {
    let fixture = Fixture::new().await;
    let page = fixture.request("GET", operations::DOCS.path, "", "").await;
    let policy = page
        .head
        .lines()
        .find_map(|line| line.strip_prefix("content-security-policy: "));
    let policy = policy.expect("a policy");
    let nonce = policy
        .split("script-src 'nonce-")
        .nth(1)
        .and_then(|rest| rest.split('\'').next());
    let nonce = nonce.expect("a nonce");
    assert_eq!(page.body.matches("<script").count(), 1);
    assert!(page.body.contains(&format!("<script nonce=\"{nonce}\">")));
    assert!(policy.starts_with("default-src 'none';") && !policy.contains("unsafe"));
    for outside in [
        "http://",
        "https://",
        "src=",
        " style=",
        "onclick",
        "innerHTML",
        "eval(",
    ] {
        assert!(!page.body.contains(outside), "{outside}");
    }
    let again = fixture.request("GET", operations::DOCS.path, "", "").await;
    assert!(!again.body.contains(nonce));
}
