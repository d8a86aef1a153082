//! The stream form.

use std::sync::Arc;
use std::time::{Duration, Instant};

use api::{FlowStatus, StartFlow, Wait};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};

use crate::http_api::fixture::{Fixture, NAME, SendAll, TOKEN, until};

fn start(flow: &str, args: Value) -> StartFlow {
    StartFlow::new(flow, &args).expect("JSON")
}

/// Sends lines over HTTP/1.1, ends the request, and reads the lines of the answer.
async fn exchange(fixture: &Fixture, body: &str) -> Vec<Value> {
    let reply = fixture.authorised("POST", "/v1/stream", body).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    assert!(
        reply.head.contains("content-type: application/x-ndjson"),
        "{reply:?}"
    );
    // Chunked: sizes stand on lines of their own.
    let lines = reply.body.lines().filter(|line| line.starts_with('{'));
    lines
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_line_is_answered_as_a_request_would_be() {
    let fixture = Fixture::with(|options| options.body_bytes_max = 500).await;
    // line -> n, code or status
    let table: &[(&str, Value, &str)] = &[
        (
            r#"{"n":1,"flow":"echo","args":{"a":[1,2]}}"#,
            json!(1),
            "finalised",
        ),
        (
            r#"{"n":2,"flow":"echo","args":7,"wait":"delivered"}"#,
            json!(2),
            "delivered",
        ),
        (
            r#"{"n":3,"flow":"echo","args":7,"wait":"none"}"#,
            json!(3),
            "accepted",
        ),
        (
            r#"{"n":4,"flow":"fail"}"#,
            json!(4),
            "vault.insufficient_funds",
        ),
        (r#"{"n":5,"flow":"nope"}"#, json!(5), "flow.unknown"),
        (r#"{"n":6,"flow":"busy"}"#, json!(6), "node.busy"),
        (r#"{"n":7,"flow":"lost"}"#, json!(7), "node.stopping"),
        (
            r#"{"n":8,"flow":"echo","client_id":""}"#,
            json!(8),
            "api.bad_client_id",
        ),
        (
            r#"{"n":9,"flow":"echo","oops":1}"#,
            json!(9),
            "api.bad_request",
        ),
        (
            r#"{"n":18446744073709551615,"flow":"encoded"}"#,
            json!(u64::MAX),
            "finalised",
        ),
        (r#"{"flow":"echo"}"#, Value::Null, "api.bad_request"),
        (r#"{"n":11,"flow":"#, Value::Null, "api.bad_json"),
        ("not JSON", Value::Null, "api.bad_json"),
    ];
    for (line, n, expected) in table {
        let answers = exchange(&fixture, &format!("\n{line}\r\n\n")).await;
        assert_eq!(answers.len(), 1, "{line} {answers:?}");
        let answer = &answers[0];
        assert_eq!(answer["n"], *n, "{line}");
        if expected.contains('.') {
            assert_eq!(answer["problem"]["code"], *expected, "{line}");
            assert!(
                answer["problem"]["hint"]
                    .as_str()
                    .is_some_and(|hint| !hint.is_empty()),
                "{line}"
            );
            let names_flow = line.contains("fail");
            assert_eq!(answer["problem"]["flow_id"].is_string(), names_flow);
            assert!(answer["status"].is_null(), "{line}");
        } else {
            assert_eq!(answer["status"], *expected, "{line}");
        }
    }
    let answers = exchange(&fixture, r#"{"n":6,"flow":"busy"}"#).await;
    assert_eq!(answers[0]["problem"]["retry_after_ms"], 1_500);
    let answers = exchange(&fixture, "{\"n\":6,\"flow\":\"echo\",\"args\":[\t1 ]}").await;
    assert_eq!(answers[0]["result"], json!([1]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bad_line_hurts_no_other_and_too_long_a_one_ends_the_stream() {
    let fixture = Fixture::with(|options| options.body_bytes_max = 500).await;
    let good = r#"{"n":1,"flow":"echo"}"#;
    let mut answers = exchange(&fixture, &format!("{good}\nbad\n{good}\n")).await;
    answers.sort_by_key(|answer| answer["problem"].is_null());
    assert_eq!(answers.len(), 3);
    assert_eq!(answers[0]["problem"]["code"], "api.bad_json");
    let long = format!("{good}\n{{\"n\":2,\"flow\":\"{}", "x".repeat(600));
    let answers = exchange(&fixture, &long).await;
    let codes: Vec<&str> = answers
        .iter()
        .filter_map(|answer| answer["problem"]["code"].as_str())
        .collect();
    assert_eq!(
        (answers.len(), &codes[..]),
        (2, &["api.body_too_large"][..])
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bug_in_a_start_leaves_the_stream_alone() {
    let fixture = Fixture::new().await;
    let stream = fixture.client().stream();
    let error = stream
        .start(&start("bug", json!(1)))
        .await
        .expect_err("a bug");
    assert_eq!(error.code(), "node.stopping");
    let outcome = stream
        .start(&start("echo", json!(1)))
        .await
        .expect("it goes on");
    assert_eq!(outcome.status, FlowStatus::Finalised);
    assert_eq!(fixture.metrics.http_streams.get(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_overtake_each_other() {
    let fixture = Fixture::new().await;
    let stream = fixture.client().stream();
    let held = tokio::spawn({
        let stream = stream.clone();
        async move { stream.start(&start("hold", json!(null))).await }
    });
    until("the first is held", || fixture.fake.held() == 1).await;
    let outcome = stream
        .start(&start("echo", json!("x")))
        .await
        .expect("done");
    assert_eq!(outcome.result.expect("a result").get(), "\"x\"");
    assert!(!held.is_finished());
    fixture.fake.release();
    assert_eq!(
        held.await
            .expect("no panic")
            .expect("done")
            .result
            .expect("a result")
            .get(),
        "\"released\""
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_more_are_outstanding_than_the_node_allows() {
    let fixture = Fixture::with(|options| options.stream_outstanding_max = 10).await;
    let stream = fixture.client().stream();
    let tasks: Vec<_> = (0..25)
        .map(|n| {
            let stream = stream.clone();
            tokio::spawn(async move { stream.start(&start("hold", json!(n))).await })
        })
        .collect();
    let mut ended = 0;
    while ended < 25 {
        let now = 10.min(25 - ended);
        until("the node holds all it allows", || {
            fixture.fake.held() == now
        })
        .await;
        fixture.fake.release();
        ended += now;
    }
    for task in tasks {
        task.await.expect("no panic").expect("done");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn starts_without_room_are_refused_while_the_others_go_on() {
    let fixture = Fixture::new().await;
    let stream = fixture.client().stream();
    let held = tokio::spawn({
        let stream = stream.clone();
        async move { stream.start(&start("hold", json!(1))).await }
    });
    until("it is held", || fixture.fake.held() == 1).await;
    fixture.fake.make_room(0);
    // Far more than one stream may have outstanding, were they accepted.
    for n in 0..10_000 {
        let error = stream.start(&start("echo", json!(n))).await;
        assert_eq!(error.expect_err("no room").code(), "node.busy");
    }
    assert_eq!(fixture.fake.turned_away(), 10_000);
    let known = start("echo", json!(1)).client_id("a");
    stream.start(&known).await.expect("it may be known");
    // Neither permission nor form is forgotten over it.
    let answers = exchange(&fixture, "{\"n\":1}\nbad\n{\"n\":2,\"flow\":\"echo\"}\n").await;
    let codes: Vec<&str> = answers
        .iter()
        .filter_map(|answer| answer["problem"]["code"].as_str())
        .collect();
    assert_eq!(codes, ["api.bad_request", "api.bad_json", "node.busy"]);
    assert_eq!(answers[2]["problem"]["retry_after_ms"], 70);
    fixture.fake.make_room(1);
    stream.start(&start("echo", json!(1))).await.expect("room");
    assert!(!held.is_finished());
    fixture.fake.release();
    held.await.expect("no panic").expect("done");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_leaves_is_waited_for_by_nobody() {
    let fixture = Fixture::new().await;
    let client = fixture.client();
    let stream = client.stream();
    let task = tokio::spawn({
        let stream = stream.clone();
        async move { stream.start(&start("hold", json!(null))).await }
    });
    until("it is held", || fixture.fake.held() == 1).await;
    // The waiter goes. The stream stays, and the late answer is dropped.
    task.abort();
    let _ = task.await;
    fixture.fake.release();
    stream
        .start(&start("echo", json!(1)))
        .await
        .expect("the stream goes on");
    // The connection goes with a start outstanding.
    let mut tls = fixture.connect().await;
    let head = format!(
        "POST /v1/stream HTTP/1.1\r\nhost: {NAME}\r\nauthorization: Bearer {TOKEN}\r\ntransfer-encoding: chunked\r\n\r\n"
    );
    let line = "{\"n\":1,\"flow\":\"hold\"}\n";
    tls.send_all(format!("{head}{:x}\r\n{line}\r\n", line.len()).as_bytes())
        .await
        .expect("sent");
    until("it is held", || fixture.fake.held() == 1).await;
    drop(tls);
    until("the node lets go", || fixture.fake.detached() == 1).await;
    assert_eq!(fixture.fake.held(), 0);
    // The last handle goes: the stream ends.
    drop(stream);
    until("no stream is left", || {
        fixture.metrics.http_streams.get() == 0
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_does_not_read_holds_up_nobody_else() {
    let fixture = Fixture::new().await;
    let mut tls = fixture.connect().await;
    let head = format!(
        "POST /v1/stream HTTP/1.1\r\nhost: {NAME}\r\nauthorization: Bearer {TOKEN}\r\ntransfer-encoding: chunked\r\n\r\n"
    );
    tls.send_all(head.as_bytes()).await.expect("sent");
    let line = format!(
        "{{\"n\":1,\"flow\":\"echo\",\"args\":\"{}\"}}\n",
        "x".repeat(10_000)
    );
    let chunk = format!("{:x}\r\n{line}\r\n", line.len());
    // It writes until it is held up, which its own unread answers see to.
    let (mut reader, mut writer) = tokio::io::split(tls);
    let written = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let pump = tokio::spawn({
        let written = Arc::clone(&written);
        async move {
            while writer.write_all(chunk.as_bytes()).await.is_ok() {
                written.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            }
        }
    });
    let stream = fixture.client().stream();
    let deadline = Instant::now() + Duration::from_secs(20);
    let mut last = usize::MAX;
    loop {
        let begin = Instant::now();
        for n in 0..200 {
            stream
                .start(&start("echo", json!(n)))
                .await
                .expect("served");
        }
        assert!(
            begin.elapsed() < Duration::from_secs(5),
            "held up: {:?}",
            begin.elapsed()
        );
        let now = written.load(std::sync::atomic::Ordering::Relaxed);
        if now == last {
            break;
        }
        assert!(Instant::now() < deadline, "never held up: {now} chunks");
        last = now;
    }
    assert!(!pump.is_finished() && last * 10_000 < 64 << 20, "{last}");
    // Once it reads, it goes on.
    let drain = tokio::spawn(async move {
        let mut some = vec![0; 64 << 10];
        while reader.read(&mut some).await.is_ok_and(|read| read > 0) {}
    });
    until("it goes on", || {
        written.load(std::sync::atomic::Ordering::Relaxed) > last
    })
    .await;
    pump.abort();
    drain.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_come_while_the_request_goes_on() {
    let fixture = Fixture::new().await;
    let mut tls = BufReader::new(fixture.connect().await);
    let head = format!(
        "POST /v1/stream HTTP/1.1\r\nhost: {NAME}\r\nauthorization: Bearer {TOKEN}\r\ntransfer-encoding: chunked\r\n\r\n"
    );
    tls.send_all(head.as_bytes()).await.expect("sent");
    for n in 0..3 {
        let line = format!("{{\"n\":{n},\"flow\":\"echo\"}}\n");
        tls.send_all(format!("{:x}\r\n{line}\r\n", line.len()).as_bytes())
            .await
            .expect("sent");
        let mut answer = String::new();
        while !answer.starts_with('{') {
            answer.clear();
            assert!(tls.read_line(&mut answer).await.expect("text") > 0);
        }
        let answer: Value = serde_json::from_str(&answer).expect("JSON");
        assert_eq!(answer["n"], n);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_client_reconnects() {
    let fixture = Fixture::with(|options| options.stop_patience = Duration::from_millis(50)).await;
    let client = fixture.client();
    let stream = client.stream();
    let waiting = tokio::spawn({
        let stream = stream.clone();
        async move { stream.start(&start("hold", json!(null))).await }
    });
    until("it is held", || fixture.fake.held() == 1).await;
    let fixture = fixture.restart().await;
    let error = waiting
        .await
        .expect("no panic")
        .expect_err("the node went away");
    assert!(
        error.code() == "client.connection_lost" && error.is_outcome_unknown(),
        "{error}"
    );
    stream
        .start(&start("echo", json!(1)))
        .await
        .expect("the new node answers");
    let fixture = fixture.restart().await;
    client.node().await.expect("the new node answers");
    stream
        .start(&start("echo", json!(1)))
        .await
        .expect("the new node answers");
    assert_eq!(fixture.metrics.http_streams.get(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopping_server_lets_streams_end_well() {
    let fixture = Fixture::new().await;
    let stream = fixture.client().stream();
    let waiting = tokio::spawn({
        let stream = stream.clone();
        async move { stream.start(&start("hold", json!(null))).await }
    });
    until("it is held", || fixture.fake.held() == 1).await;
    let fake = Arc::clone(&fixture.fake);
    let stopping = tokio::spawn(fixture.server.stop());
    tokio::task::yield_now().await;
    fake.release();
    let outcome = waiting
        .await
        .expect("no panic")
        .expect("answered before the end");
    assert_eq!(outcome.status, FlowStatus::Finalised);
    stopping.await.expect("it stops");
    assert_eq!(fake.detached(), 0);
}

/// Nanoseconds that this thread has run on a processor.
fn thread_cpu_ns() -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    stat.split(' ')
        .next()
        .and_then(|ns| ns.parse().ok())
        .unwrap_or(0)
}

/// 10,000 flows over one stream, 800 outstanding. Prints the cost of one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_flows_over_one_stream() {
    const FLOWS: u32 = 10_000;
    const OUTSTANDING: u32 = 800;
    let fixture = Fixture::new().await;
    let client = fixture.client();
    let (rounds, per_slot) = (
        if std::env::var_os("TALLY_LONG").is_some() {
            20
        } else {
            1
        },
        FLOWS / OUTSTANDING + 1,
    );
    let measured = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.block_on(async move {
            let stream = client.stream();
            stream.open().await.expect("a stream");
            let (begin, cpu) = (Instant::now(), thread_cpu_ns());
            let slots: Vec<_> = (0..OUTSTANDING)
                .map(|slot| {
                    let stream = stream.clone();
                    tokio::spawn(async move {
                        for n in 0..rounds * per_slot {
                            let args = json!({ "slot": slot, "n": n, "payee": "O=Bank B, L=New York, C=US" });
                            let start = start("echo", args).wait(Wait::Delivered);
                            let outcome = stream.start(&start).await.expect("done");
                            assert_eq!(outcome.status, FlowStatus::Delivered);
                            assert_eq!(outcome.result.expect("a result").get(), start.args.get());
                        }
                    })
                })
                .collect();
            for slot in slots {
                slot.await.expect("no panic");
            }
            (begin.elapsed(), Duration::from_nanos(thread_cpu_ns() - cpu))
        })
    });
    let (took, cpu) = tokio::task::spawn_blocking(|| measured.join())
        .await
        .expect("no panic")
        .expect("no panic");
    let flows = f64::from(OUTSTANDING * per_slot * rounds);
    println!(
        "{flows} flows: {:.1} us a flow, client's processor {:.1} us a flow, largest batch {}",
        took.as_secs_f64() * 1e6 / flows,
        cpu.as_secs_f64() * 1e6 / flows,
        fixture.fake.largest_batch()
    );
    assert_eq!(
        f64::from(u32::try_from(fixture.metrics.stream_starts.get()).expect("few")),
        flows
    );
    assert!(
        cpu.as_secs_f64() * 1e6 / flows < 100.0,
        "a flow costs the client far too much: {cpu:?}"
    );
}
