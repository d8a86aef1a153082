//! The HTTP server of the fake.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::answer::{Form, answer, refusal};
use super::world::{Turn, World};

/// The longest form that is read.
const FORM_BYTES_MAX: usize = 1 << 20;
/// Upper limit on concurrent connections. Further ones wait to be accepted.
const CONNECTIONS_MAX: usize = 1_024;

/// Serves until it is dropped, with every connection.
pub async fn serve(listener: TcpListener, world: Arc<World>) {
    let mut connections = JoinSet::new();
    loop {
        while connections.len() >= CONNECTIONS_MAX {
            // Ignore the result: the client sees how its connection ended.
            let _ = connections.join_next().await;
        }
        let Ok((stream, _)) = listener.accept().await else {
            return;
        };
        let world = Arc::clone(&world);
        connections.spawn(async move {
            let service = service_fn(|request| handle(Arc::clone(&world), request));
            let served = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service);
            let _ = served.await;
        });
        while connections.try_join_next().is_some() {}
    }
}

async fn handle(
    world: Arc<World>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let query = read_form(request.uri().query().unwrap_or_default());
    let is_post = request.method() == Method::POST && request.uri().path() == "/nxt";
    let body = Limited::new(request.into_body(), FORM_BYTES_MAX)
        .collect()
        .await;
    let text = match body {
        Ok(body) if is_post => String::from_utf8_lossy(&body.to_bytes()).into_owned(),
        _ => return Ok(respond(refusal(1, "Incorrect request").to_string())),
    };
    let name = query.get("requestType").cloned().unwrap_or_default();
    if ["sendMoney", "broadcastTransaction"].contains(&name.as_str()) {
        tokio::time::sleep(world.behaviour.slow).await;
        match world.turn() {
            Turn::Serve => {}
            Turn::Refuse => return Ok(respond(refusal(6, "Not enough funds").to_string())),
            Turn::Malformed => return Ok(respond("<html>Bad gateway</html>".to_owned())),
        }
    }
    Ok(respond(
        answer(&world, &name, &read_form(&text)).to_string(),
    ))
}

fn respond(text: String) -> Response<Full<Bytes>> {
    Response::new(Full::new(Bytes::from(text)))
}

/// Returns the names and values of a form or a query.
fn read_form(text: &str) -> Form {
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    pairs
        .map(|(name, value)| (decoded(name), decoded(value)))
        .collect()
}

fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let hex = bytes
            .get(at + 1..at + 3)
            .and_then(|two| std::str::from_utf8(two).ok());
        match (byte, hex.and_then(|two| u8::from_str_radix(two, 16).ok())) {
            (b'%', Some(value)) => {
                out.push(value);
                at += 2;
            }
            (b'+', _) => out.push(b' '),
            (other, _) => out.push(*other),
        }
        at += 1;
    }
    String::from_utf8_lossy(&out).into_owned()
}
