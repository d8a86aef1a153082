//! Server-sent events, and batches of starts.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use crate::http_api::fixture::{Fixture, NAME, SendAll, TOKEN, until};
use crate::http_api::users::{add, call, with_users};

/// A connection on which events come in.
struct Events {
    tls: TlsStream<TcpStream>,
    text: String,
}

impl Events {
    async fn follow(fixture: &Fixture, path: &str, headers: &str) -> Self {
        Self::follow_as(TOKEN, fixture, path, headers).await
    }

    async fn follow_as(token: &str, fixture: &Fixture, path: &str, headers: &str) -> Self {
        let mut tls = fixture.connect().await;
        let head = format!(
            "GET {path} HTTP/1.1\r\nhost: {NAME}\r\nauthorization: Bearer {token}\r\nconnection: close\r\n{headers}\r\n"
        );
        tls.send_all(head.as_bytes()).await.expect("sent");
        let text = String::new();
        Self { tls, text }
    }

    /// Reads until the text holds this, and the rest of the event that it is part of.
    async fn until(&mut self, wanted: &str) {
        let whole = |text: &str| {
            text.find(wanted)
                .is_some_and(|at| text[at..].contains("\n\n"))
        };
        let reading = async {
            while !whole(&self.text) {
                let mut bytes = [0; 4_096];
                let count = self.tls.read(&mut bytes).await.unwrap_or(0);
                assert!(count > 0, "ended without {wanted}: {}", self.text);
                self.text
                    .push_str(&String::from_utf8_lossy(&bytes[..count]));
            }
        };
        let patience = tokio::time::timeout(Duration::from_secs(20), reading);
        patience.await.unwrap_or_else(|_| panic!("never {wanted}"));
    }

    /// The received events: type, id and data.
    fn events(&self) -> Vec<(String, String, Value)> {
        let field = |event: &str, name: &str| {
            let lines = event.lines();
            let found = lines.filter_map(|line| line.strip_prefix(name)).next();
            found.unwrap_or_default().to_owned()
        };
        let events = self
            .text
            .split("\n\n")
            .filter(|event| event.contains("data: "));
        events
            .map(|event| {
                let start = event.find("event: ").expect("a type");
                let event = &event[start..];
                let data = serde_json::from_str(&field(event, "data: ")).expect("JSON");
                (field(event, "event: "), field(event, "id: "), data)
            })
            .collect()
    }
}

async fn held(fixture: &Fixture) -> String {
    let start = fixture
        .authorised("POST", "/v1/flows", r#"{"flow":"hold","timeout_ms":1}"#)
        .await;
    start.json()["flow_id"].as_str().expect("an id").to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flow_is_followed_to_its_end() {
    let fixture = Fixture::new().await;
    let flow = held(&fixture).await;
    let path = format!("/v1/flows/{flow}/events");
    let mut events = Events::follow(&fixture, &path, "").await;
    events.until("event: state").await;
    until("it waits", || fixture.fake.held() == 1).await;
    fixture.fake.step("notarising");
    events.until("notarising").await;
    fixture.fake.step("recording");
    fixture.fake.release();
    events.until("event: end").await;
    let told = events.events();
    let kinds: Vec<&str> = told.iter().map(|(kind, ..)| kind.as_str()).collect();
    assert_eq!(kinds, ["state", "step", "step", "end"]);
    assert_eq!(
        (&told[0].2["step"], &told[0].2["flow_id"]),
        (&json!("holding"), &json!(flow))
    );
    assert_eq!(
        (told[2].1.as_str(), &told[2].2),
        ("2", &json!({ "step": "recording" }))
    );
    assert_eq!(
        (&told[3].2["status"], &told[3].2["result"]),
        (&json!("finalised"), &json!("released"))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_events_of_a_flow_that_does_not_succeed_end_with_a_problem() {
    let fixture = Fixture::new().await;
    let flow = held(&fixture).await;
    let mut events = Events::follow(&fixture, &format!("/v1/flows/{flow}/events"), "").await;
    events.until("event: state").await;
    fixture.client().cancel(&flow).await.expect("known");
    events.until("event: failed").await;
    events.until("}\n\n").await;
    let told = events.events();
    let (kind, _, problem) = told.last().expect("events");
    assert_eq!(kind, "failed");
    assert_eq!(problem["code"], "flow.killed");
    assert_eq!(problem["flow_id"], flow.as_str());
    assert_eq!(problem["flow_status"], "killed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn followers_that_go_away_or_do_not_read_leave_nothing_behind() {
    let fixture = Fixture::with(|options| options.followers_max = 2).await;
    let flow = held(&fixture).await;
    let path = format!("/v1/flows/{flow}/events");
    for _ in 0..3 {
        let mut first = Events::follow(&fixture, &path, "").await;
        let mut second = Events::follow(&fixture, &path, "").await;
        first.until("event: state").await;
        second.until("event: state").await;
        let third = fixture.authorised("GET", &path, "").await;
        assert_eq!(
            (third.status, &third.json()["code"]),
            (503, &json!("node.busy"))
        );
        drop((first, second));
        until("nobody follows", || {
            fixture.metrics.http_followers.get() == 0
        })
        .await;
        until("nobody waits", || fixture.fake.held() == 0).await;
    }
    let mut slow = Events::follow(&fixture, &path, "").await;
    slow.until("event: state").await;
    // All at once: more than are held for a follower that has not had a chance to read.
    until("it is cut off", || {
        for _ in 0..100 {
            fixture.fake.step("again");
        }
        fixture.metrics.http_followers.get() == 0
    })
    .await;
    slow.until("event: cut").await;
    let told = slow.events();
    assert_eq!(
        told.last().map(|last| &last.2["code"]),
        Some(&json!("api.slow_reader"))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_whose_client_does_not_read_is_closed() {
    let fixture = Fixture::with(|options| options.write_patience = Duration::from_millis(50)).await;
    let mut tls = fixture.connect().await;
    let request =
        format!("GET /v1/ledger HTTP/1.1\r\nhost: {NAME}\r\nauthorization: Bearer {TOKEN}\r\n\r\n");
    // Answers of 800 KB each, far more together than the system holds for a reader.
    tls.send_all(request.repeat(50).as_bytes())
        .await
        .expect("sent");
    until("it is accepted", || {
        fixture.metrics.http_connections.get() == 1
    })
    .await;
    until("it is closed", || {
        fixture.metrics.http_connections.get() == 0
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_of_the_vault_are_told_once_each_and_go_on_where_a_reader_stopped() {
    let fixture = Fixture::new().await;
    // path, header -> where it starts, ids that follow once the view is at 46
    for (query, header, start, ids) in [
        ("", "", 42, vec![44, 46]),
        ("?after=38", "", 38, vec![40, 42, 44, 46]),
        ("?after=0", "last-event-id: 43\r\n", 43, vec![44, 46]),
        ("?after=44", "", 44, vec![46]),
    ] {
        fixture.fake.vault.reach(42);
        let mut events =
            Events::follow(&fixture, &format!("/v1/vault/events{query}"), header).await;
        events.until("event: start").await;
        fixture.fake.vault.reach(45);
        fixture.fake.vault.reach(46);
        events.until("id: 46\n").await;
        events.until("}\n\n").await;
        let told = events.events();
        assert_eq!(told[0].2, json!({ "after": start }), "{query}");
        let found: Vec<u64> = told[1..]
            .iter()
            .map(|(_, id, _)| id.parse().expect("a number"))
            .collect();
        assert_eq!(found, ids, "{query} {header}");
    }
    let stopped = Events::follow(&fixture, "/v1/vault/events", "").await;
    let mut stopped = stopped;
    stopped.until("event: start").await;
    fixture.server.stop().await;
    stopped.until("event: cut").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_may_query_some_contracts_is_told_of_their_changes_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, permissions) in [
        ("nobody", &["flow.*"][..]),
        ("narrow", &["vault.query:x.*"]),
        ("both", &["vault.query:x.a", "vault.query:y"]),
        ("other", &["vault.query:z"]),
        ("all", &["vault.query"]),
    ] {
        add(folder.path(), name, permissions);
    }
    let fixture = with_users(folder.path()).await;
    fixture.fake.vault.reach(50);
    let path = "/v1/vault/events?after=40";
    let refused = call(&fixture, "nobody", "GET", path, "").await;
    assert_eq!(
        (refused.status, &refused.json()["code"]),
        (403, &json!("api.forbidden"))
    );
    // Who, and the positions told: each second one is a change, each fourth one of contract x.a.
    for (name, told) in [
        ("narrow", &[44, 48][..]),
        ("both", &[42, 44, 46, 48, 50]),
        ("other", &[]),
        ("all", &[42, 44, 46, 48, 50]),
    ] {
        let mut events = Events::follow_as(name, &fixture, path, "").await;
        if let Some(last) = told.last() {
            events.until(&format!("id: {last}\ndata")).await;
            events.until("}\n\n").await;
        } else {
            // The position comes without an event.
            events.until("id: 50\n\n").await;
        }
        let seqs: Vec<u64> = events.events()[1..]
            .iter()
            .map(|(_, _, change)| change["seq"].as_u64().expect("a number"))
            .collect();
        assert_eq!(seqs, told, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_start_of_a_batch_is_answered_by_itself_and_in_order() {
    let fixture = Fixture::new().await;
    let batch = json!({ "starts": [
        { "flow": "echo", "args": [1] },
        { "flow": "hold", "timeout_ms": 1 },
        { "flow": "hold", "timeout_ms": 1, "client_id": "a" },
        { "flow": "busy" },
        { "flow": "echo", "arg": 1 },
        { "flow": "echo", "client_id": "" },
        { "flow": "fail" },
        { "flow": "unknown" },
        { "flow": "echo", "args": [2], "wait": "none" },
    ]});
    let reply = fixture
        .authorised("POST", "/v1/flows/batch", &batch.to_string())
        .await;
    assert_eq!(reply.status, 200, "{reply:?}");
    let answers = reply.json();
    let seen: Vec<(u64, &str)> = answers["answers"]
        .as_array()
        .expect("answers")
        .iter()
        .map(|answer| {
            let said = [&answer["outcome"]["status"], &answer["problem"]["code"]];
            let said = said.into_iter().find_map(Value::as_str);
            (
                answer["status"].as_u64().expect("a status"),
                said.expect("one of the two"),
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            (200, "finalised"),
            (202, "running"),
            (202, "running"),
            (503, "node.busy"),
            (422, "api.bad_request"),
            (422, "api.bad_client_id"),
            (422, "vault.insufficient_funds"),
            (422, "flow.unknown"),
            (202, "accepted"),
        ]
    );
    let failed = &answers["answers"][6];
    assert!(failed["problem"]["flow_id"].is_string(), "{failed}");
    assert!(failed["outcome"].is_null(), "{failed}");
    assert_eq!(fixture.fake.largest_batch(), 7);
    assert_eq!(answers["answers"][0]["outcome"]["result"], json!([1]));
    let many = json!({ "starts": vec![json!({ "flow": "echo" }); 257] });
    let reply = fixture
        .authorised("POST", "/v1/flows/batch", &many.to_string())
        .await;
    assert_eq!(
        (reply.status, &reply.json()["code"]),
        (422, &json!("api.bad_batch"))
    );
}
