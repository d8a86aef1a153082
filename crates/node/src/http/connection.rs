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
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tokio_util::io::{InspectReader, InspectWriter};

use super::connections::{ClientAddress, ConnectionPlace, Visitor};
use super::cut::Cut;
use super::front::Front;
use super::http2::{Http2, StreamLimits};
use super::patient::Patient;
use super::router::respond;
use super::windows::Window;
use crate::metrics::Counter;

/// The head of a request, in bytes.
const HEAD_BYTES_MAX: u32 = 16 << 10;

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
    // Answers are written whole, so a delay gains nothing. A socket that refuses the option is served without it.
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
    let serve = {
        let (front, visitor) = (Arc::clone(front), Arc::clone(visitor));
        move |mut request: Request<Body>, cut: Cut| {
            let (front, router) = (Arc::clone(&front), router.clone());
            let visitor = Arc::clone(&visitor);
            async move {
                request.extensions_mut().insert(cut);
                let _in_flight = visitor.begin();
                request.extensions_mut().insert(visitor);
                request.extensions_mut().insert(address);
                respond(&front, router, request).await
            }
        }
    };
    let stopping = front.stopping.clone();
    if is_http2 {
        let limits = StreamLimits {
            head_bytes_max: HEAD_BYTES_MAX,
            requests_max: front.options.requests_per_connection_max,
            write_patience: front.options.write_patience,
        };
        visitor.has_window(Window::ANONYMOUS);
        let handshake = Http2::handshake(tls, limits, serve);
        let connection = match tokio::time::timeout(timeout, handshake).await {
            Ok(Ok(connection)) => connection,
            Ok(Err(error)) => {
                tracing::debug!(%peer, %error, "a client did not agree on HTTP/2");
                return;
            }
            Err(_) => {
                tracing::debug!(%peer, "a client did not agree on HTTP/2 in time");
                return;
            }
        };
        drive(
            connection,
            (|mut c| c.end_gracefully(), |mut c, window| c.widen(window)),
            stopping,
            visitor,
            timeout,
        )
        .await;
    } else {
        let cut = Cut::default();
        let of_connection = cut.clone();
        let service = service_fn(move |request: Request<Incoming>| {
            let response = serve(request.map(Body::new), of_connection.clone());
            async move { Ok::<_, Infallible>(response.await) }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(timeout)
            .max_buf_size(HEAD_BYTES_MAX as usize * 4)
            .serve_connection(TokioIo::new(tls), service);
        cut.or_done(drive(
            connection,
            // HTTP/1 leaves unread bytes to the system, so it has no windows.
            (|c| c.graceful_shutdown(), |_, _| {}),
            stopping,
            visitor,
            timeout,
        ))
        .await;
    }
}

/// Serves a connection. Shuts it down when the server stops, or when no valid token has arrived in time.
async fn drive<C, E>(
    connection: C,
    (ask_to_end, widen): (impl Fn(Pin<&mut C>), impl Fn(Pin<&mut C>, Window)),
    mut stopping: watch::Receiver<bool>,
    visitor: &Visitor,
    timeout: Duration,
) where
    C: Future<Output = Result<(), E>>,
    E: std::fmt::Display,
{
    let mut connection = pin!(connection);
    let mut probation = pin!(tokio::time::sleep(timeout));
    let (mut on_probation, mut ending, mut is_wide) = (true, false, false);
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
            window = visitor.widened(), if !is_wide => {
                is_wide = true;
                widen(connection.as_mut(), window);
                visitor.has_window(window);
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
