//! Limits of clients. A client that exceeds them disturbs no other client.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use api::{StartFlow, Wait};
use hyper::Request;
use hyper::body::Frame;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use crate::http_api::fixture::{Fixture, NAME, SendAll, TOKEN, until};

/// Reads until the server closes; the time it may take is generous.
async fn closed(mut socket: impl AsyncReadExt + Unpin) -> Vec<u8> {
    let mut bytes = Vec::new();
    let read = tokio::time::timeout(Duration::from_secs(20), socket.read_to_end(&mut bytes)).await;
    // A reset is an end too.
    let _ = read.expect("the server closes");
    bytes
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_say_nothing_are_closed() {
    let fixture = Fixture::with(|options| options.head_timeout = Duration::from_millis(50)).await;
    let address = fixture.server.address();
    // No TLS at all.
    closed(TcpStream::connect(address).await.expect("it listens")).await;
    // Garbage instead of TLS.
    let mut tcp = TcpStream::connect(address).await.expect("it listens");
    tcp.send_all(b"GET / HTTP/1.1\r\n\r\n").await.expect("sent");
    closed(tcp).await;
    // TLS, but no request; half a request; a request without a token.
    closed(fixture.connect().await).await;
    for text in ["GET /v1/node HT", "GET /health HTTP/1.1\r\nhost: x\r\n\r\n"] {
        let mut tls = fixture.connect().await;
        tls.send_all(text.as_bytes()).await.expect("sent");
        closed(tls).await;
    }
    assert_eq!(fixture.metrics.http_connections_refused.get(), 2);
    until("no connection is left", || {
        fixture.metrics.http_connections.get() == 0
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_does_not_come_is_not_waited_for() {
    let fixture = Fixture::with(|options| options.body_timeout = Duration::from_millis(50)).await;
    let mut tls = fixture.connect().await;
    let head = format!(
        "POST /v1/flows HTTP/1.1\r\nhost: {NAME}\r\nconnection: close\r\nauthorization: Bearer {TOKEN}\r\ncontent-length: 100\r\n\r\n{{"
    );
    tls.send_all(head.as_bytes()).await.expect("sent");
    let text = String::from_utf8(closed(tls).await).expect("text");
    assert!(
        text.starts_with("HTTP/1.1 408") && text.contains("api.body_timeout"),
        "{text}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn too_many_connections_and_too_large_heads() {
    let fixture = Fixture::with(|options| options.connections_max = 2).await;
    // Two of users, who have them all; nothing is ended for a third.
    let (first, second) = (fixture.client(), fixture.client_of("bob's"));
    first.node().await.expect("there is a place");
    second.node().await.expect("there is a place");
    closed(
        TcpStream::connect(fixture.server.address())
            .await
            .expect("the system accepts"),
    )
    .await;
    assert_eq!(fixture.metrics.http_connections_refused.get(), 1);
    drop((first, second));
    until("there is a place again", || {
        fixture.metrics.http_connections.get() == 0
    })
    .await;
    let long = format!("x: {}\r\n", "y".repeat(200_000));
    let reply = fixture.request("GET", "/health", &long, "").await;
    assert!(matches!(reply.status, 431 | 0), "{reply:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn too_many_requests_and_streams_are_busy_and_health_is_not() {
    let fixture = Fixture::with(|options| {
        options.requests_max = 2;
        options.streams_max = 1;
    })
    .await;
    let client = fixture.client();
    let first = client.stream();
    first.open().await.expect("there is a place");
    let error = client.stream().open().await.expect_err("there is none");
    assert_eq!(
        (error.code(), error.retry_after_ms()),
        ("node.busy", Some(200))
    );
    drop(first);
    until("the place is free", || {
        fixture.metrics.http_streams.get() == 0
    })
    .await;
    client.stream().open().await.expect("there is a place");
    let start = StartFlow::new("hold", &1).expect("JSON");
    let waiting: Vec<_> = (0..2)
        .map(|_| {
            let (client, start) = (client.clone(), start.clone());
            tokio::spawn(async move { client.start(&start).await })
        })
        .collect();
    until("both wait", || fixture.fake.held() == 2).await;
    let error = client.node().await.expect_err("no place");
    assert_eq!(
        (error.code(), error.retry_after_ms()),
        ("node.busy", Some(200))
    );
    assert!(client.health().await.expect("always").ready);
    fixture.fake.release();
    for task in waiting {
        task.await.expect("no panic").expect("done");
    }
    client.node().await.expect("there is a place");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bodies_wait_for_their_place_in_memory() {
    let fixture = Fixture::with(|options| {
        options.bodies_bytes_max = 5_000;
        options.body_bytes_max = 4_000;
    })
    .await;
    let client = fixture.client();
    let start = StartFlow::new("echo", &"x".repeat(2_500)).expect("JSON");
    let tasks: Vec<_> = (0..50)
        .map(|_| {
            let (client, start) = (client.clone(), start.clone());
            tokio::spawn(async move { client.start(&start).await })
        })
        .collect();
    for task in tasks {
        task.await
            .expect("no panic")
            .expect("every body gets its turn");
    }
    // A body of unknown length takes the largest place, and gives the rest back.
    let mut tls = fixture.connect().await;
    let body = r#"{"flow":"echo"}"#;
    let head = format!(
        "POST /v1/flows HTTP/1.1\r\nhost: {NAME}\r\nconnection: close\r\nauthorization: Bearer {TOKEN}\r\ntransfer-encoding: chunked\r\n\r\n"
    );
    let chunk = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    tls.send_all(format!("{head}{chunk}").as_bytes())
        .await
        .expect("sent");
    let text = String::from_utf8(closed(tls).await).expect("text");
    assert!(text.starts_with("HTTP/1.1 200"), "{text}");
}

/// Sends the head of a request that announces a body, and nothing of the body.
async fn announce(
    fixture: &Fixture,
    path: &str,
    headers: &str,
    length: usize,
) -> TlsStream<TcpStream> {
    let mut tls = fixture.connect().await;
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: {NAME}\r\n{headers}content-length: {length}\r\n\r\n"
    );
    tls.send_all(head.as_bytes()).await.expect("sent");
    tls
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn announced_bodies_hold_no_memory() {
    let fixture = Fixture::with(|options| {
        options.bodies_bytes_max = 8 << 20;
        options.body_bytes_max = 1 << 20;
    })
    .await;
    let client = fixture.client();
    let token = format!("authorization: Bearer {TOKEN}\r\n");
    // The path, further headers, the announced length: many times the budget of all bodies.
    for (path, headers, length) in [
        ("/v1/login", "", 1 << 20),
        ("/v1/login", "", 16_000),
        ("/v1/flows", "", 1 << 20),
        ("/v1/flows", token.as_str(), 1 << 20),
    ] {
        let mut silent = Vec::new();
        for _ in 0..32 {
            silent.push(announce(&fixture, path, headers, length).await);
        }
        let start = StartFlow::new("echo", &"x".repeat(500_000)).expect("JSON");
        let started = tokio::time::timeout(Duration::from_secs(20), client.start(&start)).await;
        started.expect("not held up").expect("done");
        drop(silent);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_http2_connection_of_silent_logins_stops_nothing() {
    let fixture = Fixture::new().await;
    let tls = fixture.connect_with(&[b"h2"]).await;
    let (mut sender, connection) = http2::Builder::new(TokioExecutor::new())
        .handshake(TokioIo::new(tls))
        .await
        .expect("HTTP/2");
    tokio::spawn(connection);
    let mut answers = Vec::new();
    for length in [1 << 20, 16_000].repeat(32) {
        sender.ready().await.expect("room for a stream");
        let request = Request::post(format!("https://{NAME}/v1/login"))
            .header("content-length", length)
            .body(Silent)
            .expect("a request");
        answers.push(tokio::spawn(sender.send_request(request)));
    }
    let client = fixture.client();
    let start = StartFlow::new("echo", &1).expect("JSON");
    let started = tokio::time::timeout(Duration::from_secs(20), client.start(&start)).await;
    started.expect("not held up").expect("done");
    // A body with a too large announced length is refused without waiting for it.
    let answer = answers.swap_remove(0).await.expect("no panic");
    assert_eq!(answer.expect("an answer").status(), 413);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_sends_too_large_a_body_gets_the_answer() {
    let fixture = Fixture::with(|options| options.body_bytes_max = 2_000).await;
    for length in [2_001, 100_000, 4 << 20] {
        let args = "x".repeat(length);
        let body = format!(r#"{{"flow":"echo","args":"{args}"}}"#);
        // Over HTTP/1.1 the whole body is sent before the answer is read.
        let chunked = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
        let known = fixture.authorised("POST", "/v1/flows", &body).await;
        let path = "/v1/flows";
        let headers = format!("authorization: Bearer {TOKEN}\r\ntransfer-encoding: chunked\r\n");
        let unknown = fixture
            .request_as_is("POST", path, &headers, &chunked)
            .await;
        for (what, reply) in [("announced", known), ("chunked", unknown)] {
            assert_eq!(reply.status, 413, "{what}, {length} bytes: {reply:?}");
            assert_eq!(reply.json()["code"], "api.body_too_large", "{what}");
        }
        // Over HTTP/2.
        let start = StartFlow::new("echo", &args).expect("JSON");
        let refused = fixture.client().start(&start).await;
        let code = refused.expect_err("too large").code().to_owned();
        assert_eq!(code, "api.body_too_large", "{length} bytes");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_sends_a_body_to_a_bad_query_gets_the_answer() {
    let fixture = Fixture::new().await;
    for length in [0, 5, 900_000] {
        let body = "x".repeat(length);
        for path in ["/v1/attachments?sha256=00", "/v1/flows/test.echo?wiat=none"] {
            let reply = fixture.authorised("POST", path, &body).await;
            assert_eq!(reply.status, 400, "{path}, {length} bytes: {reply:?}");
            assert_eq!(reply.json()["code"], "api.bad_parameter", "{path}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_is_said_to_be_something_else_than_json_is_refused() {
    let fixture = Fixture::new().await;
    let body = r#"{"flow":"echo"}"#;
    for (media, status) in [
        ("", 200),
        ("content-type: application/json\r\n", 200),
        ("content-type: Application/JSON; charset=utf-8\r\n", 200),
        ("content-type: application/vnd.bank+json\r\n", 200),
        ("content-type: application/x-www-form-urlencoded\r\n", 415),
        ("content-type: text/plain\r\n", 415),
        ("content-type: json\r\n", 415),
    ] {
        let headers = format!("authorization: Bearer {TOKEN}\r\n{media}");
        let reply = fixture.request("POST", "/v1/flows", &headers, body).await;
        assert_eq!(reply.status, status, "{media}: {reply:?}");
        if status == 415 {
            assert_eq!(reply.json()["code"], "api.not_json", "{media}");
        }
    }
}

/// A body without any bytes.
struct Silent;

impl hyper::body::Body for Silent {
    type Data = hyper::body::Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        Poll::Pending
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silent_connections_make_room_for_clients() {
    let fixture = Fixture::with(|options| {
        options.connections_max = 8;
        options.head_timeout = Duration::from_secs(3_600);
    })
    .await;
    let client = fixture.client();
    client.node().await.expect("there is a place");
    let address = fixture.server.address();
    let mut silent = Vec::new();
    for _ in 0..40 {
        silent.push(TcpStream::connect(address).await.expect("it listens"));
    }
    // A new client gets in, and the one that was there stays.
    fixture.client_of("bob's").node().await.expect("room");
    client.node().await.expect("still there");
    let evicted = fixture.metrics.http_connections_evicted.get();
    assert!((30..=41).contains(&evicted), "{evicted}");
    assert_eq!(fixture.metrics.http_connections_refused.get(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_user_leaves_places_to_others() {
    let fixture = Fixture::with(|options| {
        options.requests_max = 8;
        options.streams_max = 4;
    })
    .await;
    let (ann, bob) = (fixture.client(), fixture.client_of("bob's"));
    let streams: Vec<_> = (0..4).map(|_| ann.stream()).collect();
    for (n, stream) in streams.iter().enumerate() {
        let opened = stream.open().await;
        assert_eq!(opened.is_ok(), n < 3, "{n}");
    }
    bob.stream().open().await.expect("a place is left");
    let start = StartFlow::new("hold", &1).expect("JSON");
    let waiting: Vec<_> = (0..6)
        .map(|_| {
            let (ann, start) = (ann.clone(), start.clone());
            tokio::spawn(async move { ann.start(&start).await })
        })
        .collect();
    until("all wait", || fixture.fake.held() == 6).await;
    let error = ann.node().await.expect_err("her share is used up");
    assert_eq!(error.code(), "node.busy");
    bob.node().await.expect("a place is left");
    fixture.fake.release();
    for task in waiting {
        task.await.expect("no panic").expect("done");
    }
    drop(streams);
}

/// 64 single calls outstanding on one connection. Prints the cost of one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn single_calls() {
    let fixture = Fixture::new().await;
    let client = fixture.client();
    client.node().await.expect("connected");
    let calls = if std::env::var_os("TALLY_LONG").is_some() {
        2_000
    } else {
        20
    };
    let begin = std::time::Instant::now();
    let tasks: Vec<_> = (0..64)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move {
                for n in 0..calls {
                    let start = StartFlow::new("echo", &n).expect("JSON");
                    client.start(&start).await.expect("done");
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("no panic");
    }
    let us = begin.elapsed().as_secs_f64() * 1e6 / f64::from(64 * calls);
    println!("single calls over HTTP/2: {us:.1} us each");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_stops_waiting_is_forgotten() {
    let fixture = Fixture::new().await;
    let client = fixture.client();
    let start = StartFlow::new("hold", &1)
        .expect("JSON")
        .wait(Wait::Delivered);
    let task = tokio::spawn({
        let (client, start) = (client.clone(), start.clone());
        async move { client.start(&start).await }
    });
    until("it is held", || fixture.fake.held() == 1).await;
    task.abort();
    until("the node lets go", || fixture.fake.detached() == 1).await;
    assert_eq!(fixture.fake.held(), 0);
    client.node().await.expect("the connection is still good");
    assert_eq!(fixture.metrics.http_connections.get(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_port_that_is_taken_is_named() {
    use primitives::Coded;
    let fixture = Fixture::new().await;
    let error = fixture.listen_again().await.expect_err("it is taken");
    assert_eq!(error.code(), "http.cannot_listen");
    assert!(
        error
            .to_string()
            .contains(&fixture.server.address().to_string()),
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_request_leaves_its_connection_whole() {
    let fixture = Fixture::new().await;
    let mut tls = fixture.connect().await;
    let body = "x".repeat(100_000);
    // These bodies are refused: no token, an unknown path, another method.
    for (line, status) in [
        ("POST /v1/flows", "401"),
        ("POST /v1/nothing", "404"),
        ("PUT /health", "405"),
        ("POST /v1/drain", "401"),
    ] {
        let head = format!(
            "{line} HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        tls.send_all(head.as_bytes()).await.expect("open");
        tls.flush().await.expect("open");
        tls.send_all(body.as_bytes()).await.expect("open");
        let mut answer = Vec::new();
        while !answer.ends_with(b"}") {
            let mut piece = [0; 4_096];
            let read = tls.read(&mut piece).await.expect("open");
            assert!(read > 0, "{line}: the connection was closed");
            answer.extend_from_slice(&piece[..read]);
        }
        let answer = String::from_utf8(answer).expect("text");
        assert_eq!(answer.split(' ').nth(1), Some(status), "{line}: {answer}");
    }
}
