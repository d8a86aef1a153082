//! Downloads whose client takes nothing: they are ended, and their places are given back.

use std::time::Duration;

use http_body_util::{BodyExt, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use node::http::AttachmentService;
use store::PartId;
use tokio::io::AsyncReadExt;

use crate::http_api::fake_files::TRANSFERS_PER_USER_MAX;
use crate::http_api::fixture::{Fixture, NAME, SendAll, TOKEN, until};

/// More than the system keeps of a connection in memory.
const LARGE: usize = 32 << 20;

/// A server that has no patience, and the path of a file's content.
async fn impatient(length: usize) -> (Fixture, String) {
    let fixture = Fixture::with(|options| {
        options.body_timeout = Duration::from_millis(300);
        options.write_patience = Duration::from_secs(3_600);
    });
    let fixture = fixture.await;
    let mut part = fixture
        .fake
        .files
        .files
        .part(PartId::Upload([1; 16]))
        .expect("a part");
    part.write(&vec![7; length]).expect("written");
    let published = part.finish(None, None).expect("whole");
    let path = format!("/v1/attachments/{}/content", published.hash);
    let stored = fixture
        .fake
        .files
        .store_attachment(published, None, None, &"ann".into());
    stored.await.expect("stored");
    (fixture, path)
}

fn running(fixture: &Fixture) -> u64 {
    fixture.fake.files.uploads.figures().running
}

/// A client of HTTP/2 that gives its unread streams this much window and no more.
async fn narrow(fixture: &Fixture, window: u32) -> SendRequest<Empty<Bytes>> {
    let tls = fixture.connect_with(&[b"h2"]).await;
    let mut builder = Builder::new(TokioExecutor::new());
    builder.initial_stream_window_size(window);
    let (client, connection) = builder.handshake(TokioIo::new(tls)).await.expect("HTTP/2");
    // Answers pings.
    tokio::spawn(connection);
    client
}

async fn ask(client: &mut SendRequest<Empty<Bytes>>, path: &str) -> Response<Incoming> {
    let request = Request::get(format!("https://{NAME}{path}"))
        .header("authorization", format!("Bearer {TOKEN}"))
        .body(Empty::new())
        .expect("a request");
    client.send_request(request).await.expect("an answer")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_without_window_is_reset_and_its_connection_goes_on() {
    for (length, window) in [(500_000, 0), (500_000, 1_000), (10, 0)] {
        let (fixture, path) = impatient(length).await;
        let mut client = narrow(&fixture, window).await;
        let mut stalled = Vec::new();
        for _ in 0..TRANSFERS_PER_USER_MAX {
            let answer = ask(&mut client, &path).await;
            assert_eq!(answer.status(), 200);
            stalled.push(answer);
        }
        until("all places are free", || running(&fixture) == 0).await;
        assert_eq!(ask(&mut client, &path).await.status(), 200);
        for answer in stalled {
            let read = answer.into_body().collect().await;
            assert!(
                read.is_err(),
                "{length} bytes, window {window}: it was reset"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_is_not_read_is_closed() {
    let (fixture, path) = impatient(LARGE).await;
    let mut tls = fixture.connect().await;
    let head =
        format!("GET {path} HTTP/1.1\r\nhost: {NAME}\r\nauthorization: Bearer {TOKEN}\r\n\r\n");
    tls.send_all(head.as_bytes()).await.expect("sent");
    let mut start = [0; 15];
    tls.read_exact(&mut start).await.expect("an answer");
    assert_eq!(&start, b"HTTP/1.1 200 OK");
    until("its place is free", || running(&fixture) == 0).await;
    until("it is closed", || {
        fixture.metrics.http_connections.get() == 0
    })
    .await;
    let mut rest = Vec::new();
    // The bytes in flight come, then the end.
    let _ = tls.read_to_end(&mut rest).await;
    assert!(rest.len() < LARGE, "{} bytes", rest.len());
}

/// A server with eight places for requests, of which a user has six.
const PLACES_OF_USER: usize = 6;

async fn few_places(write_patience: Duration) -> Fixture {
    let fixture = Fixture::with(|options| {
        options.requests_max = 8;
        options.write_patience = write_patience;
    });
    fixture.await
}

/// Waits until the user gets an answer again.
async fn until_answered(fixture: &Fixture) {
    let client = fixture.client();
    let wait = async {
        while client.node().await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(20), wait).await;
    waited.expect("the places are free");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_that_are_not_read_hold_the_places_of_their_requests() {
    let fixture = few_places(Duration::from_secs(3_600)).await;
    let mut client = narrow(&fixture, 0).await;
    let mut unread = Vec::new();
    for _ in 0..PLACES_OF_USER {
        let answer = ask(&mut client, "/v1/node").await;
        assert_eq!(answer.status(), 200);
        unread.push(answer);
    }
    assert_eq!(ask(&mut client, "/v1/node").await.status(), 503);
    // Another user has places.
    let other = fixture.client_of("bob's").node().await;
    assert!(other.is_ok(), "{other:?}");
    drop(unread);
    drop(client);
    until_answered(&fixture).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_without_window_is_reset_and_its_connection_goes_on() {
    let fixture = few_places(Duration::from_millis(300)).await;
    let mut client = narrow(&fixture, 0).await;
    let mut unread = Vec::new();
    for _ in 0..PLACES_OF_USER {
        unread.push(ask(&mut client, "/v1/node").await);
    }
    for answer in unread {
        assert!(answer.into_body().collect().await.is_err(), "it was reset");
    }
    until_answered(&fixture).await;
    // An answer without a body needs no window.
    assert_eq!(ask(&mut client, "/").await.status(), 307);
}
