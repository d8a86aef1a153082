//! The HTTP/2 windows that a server announces, and clients that use all of them.

use std::convert::Infallible;

use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Body, Bytes, Frame, Incoming};
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncReadExt, AsyncWrite};
use tokio::sync::mpsc;
use tokio_stream::wrappers::UnboundedReceiverStream;

use crate::http_api::fixture::{Fixture, NAME, SendAll, TOKEN, until};

/// The window that HTTP/2 gives each connection and each stream before anything is announced.
const INITIAL: u64 = 65_535;
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const WINDOW_UPDATE: u8 = 8;
const ACK: u8 = 1;
/// The flags of a request that is one frame.
const WHOLE: u8 = 5;
const INITIAL_WINDOW_SIZE: u16 = 4;
/// Pings answered without another announcement. The server announces a larger window before it answers the second one.
const QUIET_PINGS: usize = 3;
/// The connections of one user that get a larger window: three quarters of 256 MiB, by 8 MiB each.
const WIDE_CONNECTIONS: usize = 24;

/// A start that stays outstanding, the shortest line of this kind.
const HOLD: &[u8] = b"{\"n\":1,\"flow\":\"hold\"}\n";

async fn send(tls: &mut (impl AsyncWrite + Unpin), kind: u8, flags: u8, stream: u8, body: &[u8]) {
    let length = u8::try_from(body.len()).expect("a short frame");
    let mut frame = vec![0, 0, length, kind, flags, 0, 0, 0, stream];
    frame.extend(body);
    tls.send_all(&frame).await.expect("sent");
}

/// A GET request as HTTP/2 writes its head, without compression.
fn get(path: &str, token: &str) -> Vec<u8> {
    let mut head = vec![0x82, 0x87];
    let mut literal = |name: &[u8], value: &str| {
        head.extend(name);
        head.push(u8::try_from(value.len()).expect("short"));
        head.extend(value.as_bytes());
    };
    literal(&[4], path);
    literal(&[1], NAME);
    literal(b"\0\x0dauthorization", token);
    head
}

/// Reads the windows of a connection and of its streams, after a request with this token was answered and the server has nothing
/// more to announce.
async fn announced(fixture: &Fixture, token: &str) -> (u64, u64) {
    let mut tls = fixture.connect_with(&[b"h2"]).await;
    tls.send_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        .await
        .expect("sent");
    send(&mut tls, SETTINGS, 0, 0, &[]).await;
    send(&mut tls, HEADERS, WHOLE, 1, &get("/v1/node", token)).await;
    let (mut connection, mut stream) = (INITIAL, INITIAL);
    let (mut is_answered, mut quiet) = (false, 0);
    send(&mut tls, PING, 0, 0, &[0; 8]).await;
    loop {
        let mut head = [0; 9];
        tls.read_exact(&mut head).await.expect("a frame");
        let length = usize::from(head[0]) << 16 | usize::from(head[1]) << 8 | usize::from(head[2]);
        let mut body = vec![0; length];
        tls.read_exact(&mut body).await.expect("its body");
        let of_connection = head[5..9] == [0; 4];
        match (head[3], head[4]) {
            (SETTINGS, flags) if flags & ACK == 0 => {
                for setting in body.chunks_exact(6) {
                    if u16::from_be_bytes([setting[0], setting[1]]) == INITIAL_WINDOW_SIZE {
                        stream = number(&setting[2..]);
                    }
                }
                send(&mut tls, SETTINGS, ACK, 0, &[]).await;
                quiet = 0;
            }
            (WINDOW_UPDATE, _) if of_connection => connection += number(&body),
            (PING, ACK) => {
                quiet += usize::from(is_answered);
                if quiet == QUIET_PINGS {
                    return (connection, stream);
                }
                send(&mut tls, PING, 0, 0, &[0; 8]).await;
            }
            (DATA, flags) => is_answered |= flags & 1 == 1,
            _ => {}
        }
    }
}

fn number(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn windows_grow_after_a_good_token_within_the_budget() {
    let fixture = Fixture::new().await;
    let good = format!("Bearer {TOKEN}");
    for (token, windows) in [
        ("Bearer wrong", (INITIAL, INITIAL)),
        (&*good, (4 << 20, 1 << 20)),
    ] {
        assert_eq!(announced(&fixture, token).await, windows, "{token}");
    }
    let mut clients = Vec::new();
    for _ in 0..WIDE_CONNECTIONS {
        let client = fixture.client();
        client.node().await.expect("answered");
        clients.push(client);
    }
    assert_eq!(announced(&fixture, &good).await, (INITIAL, INITIAL));
    // Another user's share is left.
    assert_eq!(
        announced(&fixture, "Bearer bob's").await,
        (4 << 20, 1 << 20)
    );
    drop(clients);
    until("the windows are given back", || {
        fixture.metrics.http_connections.get() == 0
    })
    .await;
    assert_eq!(announced(&fixture, &good).await, (4 << 20, 1 << 20));
}

async fn connect<B>(fixture: &Fixture) -> SendRequest<B>
where
    B: Body<Data = Bytes, Error = Infallible> + Send + Unpin + 'static,
{
    let tls = fixture.connect_with(&[b"h2"]).await;
    let (client, connection) = Builder::new(TokioExecutor::new())
        .handshake(TokioIo::new(tls))
        .await
        .expect("HTTP/2");
    tokio::spawn(connection);
    client
}

fn post<B>(path: &str, body: B) -> Request<B> {
    Request::post(format!("https://{NAME}{path}"))
        .header("authorization", format!("Bearer {TOKEN}"))
        .body(body)
        .expect("a request")
}

/// The body of a request: each line leaves in a frame of its own.
fn lines(
    lines: impl IntoIterator<Item = &'static [u8]>,
) -> (
    mpsc::UnboundedSender<Result<Frame<Bytes>, Infallible>>,
    impl Body<Data = Bytes, Error = Infallible> + Send + Unpin + 'static,
) {
    let (sender, receiver) = mpsc::unbounded_channel();
    for line in lines {
        let frame = Frame::data(Bytes::from_static(line));
        sender.send(Ok(frame)).expect("it is open");
    }
    let body = StreamBody::new(UnboundedReceiverStream::new(receiver));
    (sender, body)
}

/// Counts the lines of an answer, and releases the starts that are held whenever there are `held` of them.
async fn answers(fixture: &Fixture, answer: Response<Incoming>, lines: usize, held: usize) {
    assert_eq!(answer.status(), 200);
    let mut body = answer.into_body();
    let (mut answered, mut released) = (0, 0);
    while answered < lines {
        if answered == released {
            let more = held.min(lines - released);
            until("the node holds all it allows", || {
                fixture.fake.held() == more
            })
            .await;
            fixture.fake.release();
            released += more;
        }
        let frame = body.frame().await.expect("an answer").expect("unbroken");
        let bytes = frame.into_data().expect("data");
        answered += bytes.iter().filter(|byte| **byte == b'\n').count();
    }
}

/// The server reads no more of the stream than it may have outstanding. The rest waits within the window, one line a frame.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unread_lines_in_small_frames_break_no_connection() {
    const LINES: usize = 20_000;
    const OUTSTANDING: usize = 2_000;
    let fixture = Fixture::with(|options| options.stream_outstanding_max = OUTSTANDING).await;
    // Windows as large as they get, then windows as small as they get.
    for neighbours in [0, WIDE_CONNECTIONS] {
        let mut wide = Vec::new();
        for _ in 0..neighbours {
            let client = fixture.client();
            client.node().await.expect("answered");
            wide.push(client);
        }
        let (sender, body) = lines(std::iter::repeat_n(HOLD, LINES));
        let mut client = connect(&fixture).await;
        let answer = client.send_request(post("/v1/stream", body)).await;
        let answer = answer.expect("an answer");
        answers(&fixture, answer, LINES, OUTSTANDING).await;
        drop(sender);
    }
}

/// Bytes that the server had not read when their stream ended must count no longer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_that_are_reset_give_their_window_back() {
    const ROUNDS: usize = 20;
    let fixture = Fixture::with(|options| options.stream_outstanding_max = 1).await;
    let mut wide = Vec::new();
    for _ in 0..WIDE_CONNECTIONS {
        let client = fixture.client();
        client.node().await.expect("answered");
        wide.push(client);
    }
    let mut client = connect(&fixture).await;
    for round in 1..=ROUNDS {
        // Half of the smallest window.
        let (sender, body) = lines(std::iter::repeat_n(HOLD, 1_500));
        let answer = client
            .send_request(post("/v1/stream", body.boxed_unsync()))
            .await;
        until("it is held", || fixture.fake.held() == 1).await;
        drop((answer, sender));
        until("it is let go", || fixture.fake.detached() == round).await;
    }
    // On the same connection, a body larger than its window.
    let large = format!("{{\"flow\":\"echo\",\"args\":\"{}\"}}", "x".repeat(500_000));
    let body = Full::new(Bytes::from(large)).boxed_unsync();
    let answer = client.send_request(post("/v1/flows", body)).await;
    assert_eq!(answer.expect("an answer").status(), 200);
}

/// Sends a body until the server has memory for it.
async fn send_whole(mut client: SendRequest<Full<Bytes>>, body: Bytes) {
    loop {
        let request = post("/v1/flows", Full::new(body.clone()));
        let answer = client.send_request(request).await.expect("an answer");
        match answer.status().as_u16() {
            200 => return,
            503 => {}
            status => panic!("{status}"),
        }
    }
}

/// Bodies that wait for memory keep their bytes in the connection's window. Bodies that have memory need a part of that window.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_bodies_on_one_connection_do_not_wait_for_each_other() {
    const BODIES: usize = 32;
    let fixture = Fixture::new().await;
    let client = connect(&fixture).await;
    let body = format!("{{\"flow\":\"echo\",\"args\":\"{}\"}}", "x".repeat(900_000));
    let body = Bytes::from(body);
    let sent: Vec<_> = (0..BODIES)
        .map(|_| tokio::spawn(send_whole(client.clone(), body.clone())))
        .collect();
    for sent in sent {
        sent.await.expect("sent");
    }
}
