//! Tests of flows as endpoints: accepted bodies, refusals before a body is read, and requests whose client has gone.

use std::path::Path;
use std::sync::Arc;

use api::{StreamStart, operations};
use node::users::{AuditLog, StartQuota, UserLimits, Users, UsersFile};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use crate::http_api::fixture::{Fixture, NAME, SendAll, TOKEN, until};
use crate::http_api::users::{add, call, with_users};

/// Clients at once, each with a connection that it keeps.
const CLIENTS: usize = 300;
/// Requests that each of them makes.
const ROUNDS: usize = 5;

fn post(path: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nhost: {NAME}\r\nauthorization: Bearer {TOKEN}\r\n{headers}content-length: {length}\r\n\r\n{body}"
    )
}

/// The status and body of the next answer on a connection that is kept.
async fn answer(tls: &mut TlsStream<TcpStream>) -> (u16, String) {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).to_ascii_lowercase();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length: "));
            let length: usize = length.expect("a length").parse().expect("a number");
            if body.len() >= length {
                let status = head.split(' ').nth(1).expect("a status");
                return (status.parse().expect("a number"), body.to_owned());
            }
        }
        let mut chunk = [0; 4_096];
        let read = tls.read(&mut chunk).await.expect("an answer");
        assert!(read > 0, "closed early: {text}");
        bytes.extend_from_slice(&chunk[..read]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_body_is_the_arguments_and_the_answer_the_outcome() {
    let fixture = Fixture::new().await;
    for (path, body, status, member, expected) in [
        ("test.echo", r#"{"a":[1]}"#, 200, "/result/a/0", "1"),
        // No body is no arguments.
        ("test.echo", "", 200, "/result", "{}"),
        ("test.echo", " \n", 200, "/result", "{}"),
        (
            "test.echo?wait=delivered",
            "7",
            200,
            "/status",
            "\"delivered\"",
        ),
        ("test.echo?wait=none", "7", 202, "/status", "\"accepted\""),
        (
            "test.fail",
            "{}",
            422,
            "/code",
            "\"vault.insufficient_funds\"",
        ),
        ("test.hold?timeout_ms=1", "{}", 202, "/step", "\"holding\""),
        ("test.picky", "{}", 422, "/code", "\"flow.bad_arguments\""),
        ("test.nothing", "{}", 422, "/code", "\"flow.unknown\""),
        ("test.echo", "{} {}", 400, "/code", "\"api.bad_json\""),
        ("test.echo", "{", 400, "/code", "\"api.bad_json\""),
        (
            "test.echo?args=1",
            "{}",
            400,
            "/code",
            "\"api.bad_parameter\"",
        ),
        (
            "test.echo?version=-1",
            "{}",
            400,
            "/code",
            "\"api.bad_parameter\"",
        ),
        ("test.%ff", "{}", 400, "/code", "\"api.bad_parameter\""),
        ("test.busy", "{}", 503, "/retry_after_ms", "1500"),
    ] {
        let reply = fixture
            .authorised("POST", &format!("/v1/flows/{path}"), body)
            .await;
        assert_eq!(reply.status, status, "{path} {reply:?}");
        let found = reply.json().pointer(member).map(ToString::to_string);
        assert_eq!(found.as_deref(), Some(expected), "{path}");
        if status == 202 {
            let flow = reply.json()["flow_id"].as_str().map(str::to_owned);
            let flow = operations::GET_FLOW.at(&[&flow.expect("an id")]);
            let location = format!("location: {flow}\r\n");
            let link =
                format!("link: <{flow}/events>; rel=\"monitor\", <{flow}/cancel>; rel=\"cancel\"");
            let head = format!("{}\r\n", reply.head);
            assert!(head.contains(&location) && head.contains(&link), "{head}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_id_may_come_in_the_query_or_in_a_header() {
    let fixture = Fixture::new().await;
    let start = async |query: &str, header: &str| {
        let headers = format!("authorization: Bearer {TOKEN}\r\n{header}");
        let path = format!("/v1/flows/test.echo?wait=none{query}");
        let reply = fixture.request("POST", &path, &headers, "1").await;
        (reply.status, reply.json())
    };
    let (_, first) = start("&client_id=one", "").await;
    for (query, header) in [
        ("&client_id=one", ""),
        ("", "idempotency-key: one\r\n"),
        ("", "Idempotency-Key: \"one\"\r\n"),
        ("&client_id=one", "idempotency-key: \"one\"\r\n"),
    ] {
        let (status, again) = start(query, header).await;
        assert_eq!(
            (status, &again["flow_id"]),
            (202, &first["flow_id"]),
            "{query} {header}"
        );
    }
    for (query, header, status) in [
        ("&client_id=one", "idempotency-key: two\r\n", 400),
        ("", "idempotency-key: a\r\nidempotency-key: b\r\n", 400),
        ("", "idempotency-key: \"\"\r\n", 422),
        ("&client_id=", "", 400),
    ] {
        assert_eq!(start(query, header).await.0, status, "{query} {header}");
    }
    let long = format!("idempotency-key: {}\r\n", "x".repeat(129));
    assert_eq!(start("", &long).await.0, 422);
}

/// Sets a user's own rate limit and size limit.
fn bound(folder: &Path, name: &str, per_s: Option<u32>, bytes: Option<u32>) {
    UsersFile::change(folder, |file| {
        let user = file.user_mut(name).expect("a user");
        (user.starts_per_s, user.start_bytes_max) = (per_s, bytes);
        Ok::<_, node::users::UsersError>(())
    })
    .expect("written");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_may_not_start_is_told_so_whatever_the_body_is() {
    let folder = tempfile::tempdir().expect("a folder");
    add(folder.path(), "ann", &["flow.start:other.*"]);
    add(folder.path(), "bob", &["flow.start:test.*"]);
    bound(folder.path(), "bob", None, Some(64));
    add(folder.path(), "eve", &["vault.query"]);
    let fixture = with_users(folder.path()).await;
    let long = format!("[{}1]", "1,".repeat(100));
    let forbidden = (403, "api.forbidden");
    let too_large = (413, "api.body_too_large");
    for (token, path, body, (status, code), detail) in [
        ("ann", "test.echo", "{", forbidden, "flow.start:test.echo"),
        ("bob", "test.echo", &long, too_large, "start_bytes_max"),
        (
            "bob",
            "other.echo",
            "{}",
            forbidden,
            "flow.start:other.echo",
        ),
        // Only named permissions are asked for, even where no name was read.
        ("eve", "test.echo", "{}", forbidden, "flow.start:NAME"),
    ] {
        let path = format!("/v1/flows/{path}");
        let reply = call(&fixture, token, "POST", &path, body).await;
        assert_eq!(reply.status, status, "{reply:?}");
        let problem = reply.json();
        assert_eq!(problem["code"], code);
        let found = problem["detail"].as_str().expect("a detail");
        assert!(found.contains(detail), "{found}");
    }
    let generic = format!(r#"{{"flow":"test.echo","args":{long}}}"#);
    for (path, body) in [
        (operations::START_FLOW.path, generic.clone()),
        (
            operations::START_FLOWS.path,
            format!(r#"{{"starts":[{generic}]}}"#),
        ),
    ] {
        let reply = call(&fixture, "bob", "POST", path, &body).await;
        assert!(reply.body.contains("api.body_too_large"), "{reply:?}");
    }
    // A body of unknown length is refused once it is known.
    let chunked = format!("{:x}\r\n{long}\r\n0\r\n\r\n", long.len());
    let headers = "authorization: Bearer bob\r\ntransfer-encoding: chunked\r\n";
    let mut tls = fixture.connect().await;
    let head = format!("POST /v1/flows/test.echo HTTP/1.1\r\nhost: {NAME}\r\n{headers}\r\n");
    tls.send_all(head.as_bytes()).await.expect("sent");
    tls.send_all(chunked.as_bytes()).await.expect("sent");
    assert_eq!(answer(&mut tls).await.0, 413);
    let refused = |user: &str, flow: &str, code: &str| {
        let user = format!("\"user\":\"{user}\"");
        let flow = format!("\"flow\":\"{flow}\"");
        let log = audit_log(folder.path());
        let lines = log.lines().filter(|line| line.contains(&user));
        let lines = lines.filter(|line| line.contains(&flow) && line.contains(code));
        lines.count()
    };
    // The last one that was refused is written last.
    let of_bob = || refused("bob", "test.echo", "api.body_too_large");
    until("the log says so", || of_bob() >= 4).await;
    assert_eq!(of_bob(), 4);
    assert_eq!(refused("ann", "test.echo", "api.forbidden"), 1);
}

/// The log so far: a thread of its own writes it.
fn audit_log(folder: &Path) -> String {
    std::fs::read_to_string(folder.join("audit.log")).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_who_starts_too_much_is_told_when_to_come_again_and_nobody_else_is() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["ann", "bob", "eve"] {
        add(folder.path(), name, &["flow.start"]);
    }
    // Slow enough that no test takes as long as the next start is away.
    bound(folder.path(), "ann", Some(1), None);
    bound(folder.path(), "bob", Some(0), None);
    let users = Arc::new(Users::open(folder.path(), UserLimits::default()).expect("users"));
    let audit = Arc::new(AuditLog::open(folder.path()).expect("a log"));
    let fixture = Fixture::with(|options| {
        options.users = Some(users);
        options.audit = Some(audit);
        options.start_quota = StartQuota {
            starts_per_s: Some(1),
            start_bytes_max: None,
        };
    })
    .await;
    let path = "/v1/flows/test.echo";
    let mut limited = 0;
    for _ in 0..4 {
        let reply = call(&fixture, "ann", "POST", path, "1").await;
        if reply.status == 429 {
            limited += 1;
            let problem = reply.json();
            assert_eq!(problem["code"], "api.rate_limited");
            let wait = problem["retry_after_ms"].as_u64().expect("a time");
            assert!((1..=1_000).contains(&wait), "{wait}");
            assert!(reply.head.contains("\r\nretry-after: 1"), "{reply:?}");
        } else {
            assert_eq!(reply.status, 200, "{reply:?}");
        }
    }
    assert!(limited > 0, "four starts at once are too many");
    for _ in 0..20 {
        assert_eq!(call(&fixture, "bob", "POST", path, "1").await.status, 200);
    }
    // The settings bound users without bounds of their own. Each start of a batch counts.
    let start = r#"{"flow":"echo"}"#;
    let batch = format!(r#"{{"starts":[{start},{start},{start},{start}]}}"#);
    let batch = call(
        &fixture,
        "eve",
        "POST",
        operations::START_FLOWS.path,
        &batch,
    )
    .await;
    let answers = batch.json()["answers"].as_array().expect("answers").clone();
    let statuses: Vec<u64> = answers
        .iter()
        .map(|answer| answer["status"].as_u64().expect("a status"))
        .collect();
    assert_eq!(statuses[0], 200);
    assert!(statuses[1..].contains(&429), "{statuses:?}");
    let lines = || audit_log(folder.path()).matches("api.rate_limited").count();
    until("the log says so", || lines() > limited).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_audit_log_names_flows_that_exist() {
    let folder = tempfile::tempdir().expect("a folder");
    add(folder.path(), "ann", &["flow.start"]);
    let fixture = with_users(folder.path()).await;
    let mut flows = Vec::new();
    for (flow, wait) in [("hold", "none"), ("hold", "none"), ("busy", "finalised")] {
        let body = format!(r#"{{"flow":"{flow}","client_id":"x/{flow}","wait":"{wait}"}}"#);
        let path = operations::START_FLOW.path;
        let reply = call(&fixture, "ann", "POST", path, &body).await;
        flows.push(reply.json()["flow_id"].as_str().map(str::to_owned));
    }
    assert_eq!((&flows[0], &flows[2]), (&flows[1], &None));
    let starts = || -> Vec<serde_json::Value> {
        let log = audit_log(folder.path());
        let lines = log.lines().filter(|line| line.contains("flow.start"));
        lines
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect()
    };
    until("the log has them", || starts().len() >= 3).await;
    let named = starts();
    let named = named
        .iter()
        .map(|line| line["flow_id"].as_str().map(str::to_owned));
    // The repeated start names the first one's flow, and the refused one made none.
    assert_eq!(named.collect::<Vec<_>>(), flows);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_s_starts_are_counted_as_well() {
    let folder = tempfile::tempdir().expect("a folder");
    add(folder.path(), "ann", &["flow.start"]);
    bound(folder.path(), "ann", Some(2), None);
    let fixture = with_users(folder.path()).await;
    let lines: String = (0..10)
        .map(|n| {
            let start = serde_json::json!({ "n": n, "flow": "echo", "args": 1 });
            let text = start.to_string();
            assert!(serde_json::from_str::<StreamStart<'_>>(&text).is_ok());
            text + "\n"
        })
        .collect();
    let reply = call(&fixture, "ann", "POST", operations::STREAM.path, &lines).await;
    assert_eq!(reply.status, 200);
    let of = |text: &str| reply.body.matches(text).count();
    assert_eq!(of("\"n\":"), 10);
    assert!(of("api.rate_limited") >= 6 && of("\"status\":\"finalised\"") >= 2);
    // Written by a thread of its own, once the stream has ended. One line stands for all of a second.
    let lines = || audit_log(folder.path()).matches("api.rate_limited").count();
    until("the log says so", || lines() > 0).await;
    assert!(lines() < of("api.rate_limited"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hundreds_of_connections_are_kept_and_served_side_by_side() {
    let fixture = Arc::new(Fixture::new().await);
    let mut clients = Vec::new();
    for client in 0..CLIENTS {
        let fixture = Arc::clone(&fixture);
        clients.push(tokio::spawn(async move {
            let mut tls = fixture.connect().await;
            for round in 0..ROUNDS {
                let body = format!("[{client},{round}]");
                let request = post("/v1/flows/test.echo", "", &body);
                tls.send_all(request.as_bytes()).await.expect("sent");
                let (status, text) = answer(&mut tls).await;
                let result = format!("\"result\":{body}");
                assert!(status == 200 && text.contains(&result), "{status} {text}");
            }
            tls
        }));
    }
    let mut kept = Vec::new();
    for client in clients {
        kept.push(client.await.expect("no panic"));
    }
    let connections = fixture.metrics.http_connections.get();
    assert_eq!(connections, CLIENTS as i64);
    drop(kept);
    until("none is left", || {
        fixture.metrics.http_connections.get() == 0
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_that_nobody_waits_for_leave_nothing_behind() {
    // One user has three quarters of them.
    let requests_max = 4 * CLIENTS.div_ceil(3);
    let fixture = Fixture::with(|options| options.requests_max = requests_max).await;
    let mut waiting = Vec::new();
    for client in 0..CLIENTS {
        let mut tls = fixture.connect().await;
        let request = match client % 3 {
            // Waits for its flow, sends half a body, or half a head.
            0 => post("/v1/flows/test.hold?timeout_ms=300000", "", "{}"),
            1 => post("/v1/flows/test.echo", "", "").replace("length: 0", "length: 1000"),
            _ => "POST /v1/flows/test.echo HTTP/1.1\r\nhost:".to_owned(),
        };
        tls.send_all(request.as_bytes()).await.expect("sent");
        waiting.push(tls);
    }
    let holding = CLIENTS.div_ceil(3);
    until("all flows wait", || fixture.fake.held() == holding).await;
    drop(waiting);
    until("no connection is left", || {
        fixture.metrics.http_connections.get() == 0
    })
    .await;
    until("nobody waits", || fixture.fake.held() == 0).await;
    assert_eq!(fixture.fake.detached(), holding);
    // All places are free again.
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        let mut tls = fixture.connect().await;
        let request = post("/v1/flows/test.hold?timeout_ms=300000", "", "{}");
        tls.send_all(request.as_bytes()).await.expect("sent");
        clients.push(tls);
    }
    until("all wait", || fixture.fake.held() == CLIENTS).await;
    fixture.fake.release();
    for mut tls in clients {
        assert_eq!(answer(&mut tls).await.0, 200);
    }
}
