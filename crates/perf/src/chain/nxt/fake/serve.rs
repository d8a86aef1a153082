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

use super::answer::{answer, unfunded};
use super::form::Form;
use super::refusal::Refusal;
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
    let query = Form::read(request.uri().query().unwrap_or_default());
    let is_post = request.method() == Method::POST;
    let is_read = request.method() == Method::GET;
    let is_here = request.uri().path() == "/nxt";
    let body = Limited::new(request.into_body(), FORM_BYTES_MAX)
        .collect()
        .await;
    let form = match body {
        Ok(body) if is_here && is_post => Form::read(&String::from_utf8_lossy(&body.to_bytes())),
        Ok(_) if is_here && is_read => query.clone(),
        _ => return Ok(respond(Refusal::no_such_request().json().to_string())),
    };
    let name = query.get("requestType").unwrap_or_default();
    // Only a call that would bring a payment into the pool is a submission.
    let prepares = name == "sendMoney" && form.get("secretPhrase").is_none();
    if ["sendMoney", "broadcastTransaction"].contains(&name) && !prepares {
        tokio::time::sleep(world.behaviour.slow).await;
        match world.turn() {
            Turn::Serve => {}
            Turn::Refuse => return Ok(respond(unfunded(&form).json().to_string())),
            Turn::Malformed => return Ok(respond("<html>Bad gateway</html>".to_owned())),
        }
    }
    Ok(respond(answer(&world, name, &form, is_post).to_string()))
}

fn respond(text: String) -> Response<Full<Bytes>> {
    Response::new(Full::new(Bytes::from(text)))
}
