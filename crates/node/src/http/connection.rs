//! One client's connection: TLS, then HTTP/2 or HTTP/1.1 as agreed, within limits.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tokio_util::io::{InspectReader, InspectWriter};

use super::connections::{ConnectionPlace, Visitor};
use super::cut::{Cut, Streams};
use super::front::Front;
use super::patient::Patient;
use super::router::respond;
use crate::metrics::Counter;

const FRAME_BYTES: u32 = 64 << 10;
/// The head of a request, in bytes.
const HEAD_BYTES_MAX: u32 = 16 << 10;
const PING_EVERY: Duration = Duration::from_secs(20);
/// For a pinged client to answer; then its connection is closed.
const PING_PATIENCE: Duration = Duration::from_secs(20);

/// Where a request comes from.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ClientAddress(pub(crate) Option<std::net::IpAddr>);

/// Serves a connection to its end, or until it has to end for another.
pub(super) async fn serve(
    front: Arc<Front>,
    router: Router,
    (tcp, peer): (TcpStream, SocketAddr),
    place: ConnectionPlace,
) {
    let visitor = Arc::clone(place.visitor());
    tokio::select! {
        () = talk(&front, router, (tcp, peer), &visitor) => {}
        () = visitor.evicted() => {
            tracing::debug!(%peer, "an idle anonymous connection ends to make room for another");
        }
    }
}

async fn talk(
    front: &Arc<Front>,
    router: Router,
    (tcp, peer): (TcpStream, SocketAddr),
    visitor: &Arc<Visitor>,
) {
    let address = ClientAddress(Some(peer.ip()));
    let timeout = front.options.head_timeout;
    // Answers are written whole; waiting for more only delays them. A socket that refuses is served all the same.
    let _ = tcp.set_nodelay(true);
    let (received, sent) = (front.counters.received.clone(), front.counters.sent.clone());
    let active = |moved: Counter| {
        let (visitor, connections) = (Arc::clone(visitor), Arc::clone(&front.connections));
        move |bytes: &[u8]| {
            moved.add(bytes.len() as u64);
            visitor.active(connections.now_ms());
        }
    };
    let tcp = InspectWriter::new(tcp, active(sent));
    let tcp = InspectReader::new(tcp, active(received));
    let acceptor = TlsAcceptor::from(Arc::clone(&front.options.tls));
    let tls = match tokio::time::timeout(timeout, acceptor.accept(tcp)).await {
        Ok(Ok(tls)) => tls,
        Ok(Err(error)) => return refused(front, peer, &error.to_string()),
        Err(_) => return refused(front, peer, "no TLS in time"),
    };
    let is_http2 = tls.get_ref().1.alpn_protocol() == Some(b"h2");
    let tls = Patient::new(tls, front.options.write_patience);
    let cut = Cut::default();
    let service = {
        let (front, visitor, cut) = (Arc::clone(front), Arc::clone(visitor), cut.clone());
        service_fn(move |request: Request<Incoming>| {
            let (front, router) = (Arc::clone(&front), router.clone());
            let (visitor, cut) = (Arc::clone(&visitor), cut.clone());
            async move {
                let mut request = request.map(Body::new);
                let cut = Cut::of_stream().unwrap_or(cut);
                request.extensions_mut().insert(cut);
                let _in_flight = visitor.begin();
                request.extensions_mut().insert(visitor);
                request.extensions_mut().insert(address);
                Ok::<_, Infallible>(respond(&front, router, request).await)
            }
        })
    };
    let stopping = front.stopping.clone();
    if is_http2 {
        let connection = http2::Builder::new(Streams)
            .timer(TokioTimer::new())
            .initial_stream_window_size(front.windows.of_stream())
            .initial_connection_window_size(front.windows.of_connection())
            .max_frame_size(FRAME_BYTES)
            .max_header_list_size(HEAD_BYTES_MAX)
            .max_concurrent_streams(front.options.requests_per_connection_max)
            .keep_alive_interval(PING_EVERY)
            .keep_alive_timeout(PING_PATIENCE)
            .serve_connection(TokioIo::new(tls), service);
        drive(
            connection,
            |c| c.graceful_shutdown(),
            stopping,
            visitor,
            timeout,
        )
        .await;
    } else {
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(timeout)
            .max_buf_size(HEAD_BYTES_MAX as usize * 4)
            .serve_connection(TokioIo::new(tls), service);
        cut.or_done(drive(
            connection,
            |c| c.graceful_shutdown(),
            stopping,
            visitor,
            timeout,
        ))
        .await;
    }
}

/// Runs a connection; asks it to end when the server stops, or when no good token came in time.
async fn drive<C, E>(
    connection: C,
    ask_to_end: impl Fn(Pin<&mut C>),
    mut stopping: watch::Receiver<bool>,
    visitor: &Visitor,
    timeout: Duration,
) where
    C: Future<Output = Result<(), E>>,
    E: std::fmt::Display,
{
    let mut connection = pin!(connection);
    let mut probation = pin!(tokio::time::sleep(timeout));
    let (mut on_probation, mut ending) = (true, false);
    loop {
        tokio::select! {
            result = connection.as_mut() => {
                if let Err(error) = result {
                    tracing::debug!(%error, "a client's connection ended");
                }
                return;
            }
            () = probation.as_mut(), if on_probation => {
                on_probation = false;
                if !visitor.is_used() {
                    ask_to_end(connection.as_mut());
                }
            }
            _ = stopping.wait_for(|stopping| *stopping), if !ending => {
                ending = true;
                ask_to_end(connection.as_mut());
            }
        }
    }
}

fn refused(front: &Front, peer: SocketAddr, reason: &str) {
    front.counters.connections_refused.increment();
    tracing::debug!(%peer, reason, "a client's connection is refused");
}
