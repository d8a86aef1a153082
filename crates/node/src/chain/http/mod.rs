//! The chain node's HTTP API. `api::chain` lists its operations.

mod equivocations;
mod events;
mod forging;
mod orders;
mod page;
mod parameters;
mod reads;
pub(super) mod status;
mod transactions;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

use api::chain::operations;
use api::operations::Permission;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde::Serialize;
use tokio::sync::Semaphore;

use super::clock::unix_ms;
use super::config::ChainConfig;
use super::reads::StateHashes;
use super::shared::ChainNodeState;
use crate::http::front::Front;
use crate::http::refusal::no_place;
use crate::http::route::{route, router_of};
use crate::http::router::{answer_within, method_not_allowed, no_such_path, visitor};
use crate::http::server::listen;
use crate::http::share::Resource;
use crate::http::unread::discard;
use crate::http::{HttpHandle, HttpOptions, ListenError, Refusal};

/// The state that all requests share.
struct Api {
    front: Arc<Front>,
    shared: Arc<ChainNodeState>,
    config: ChainConfig,
    /// Places for submitted transactions that wait to be judged.
    submits: Arc<Semaphore>,
    snapshots: PathBuf,
    started_at_ms: u64,
    /// The store's size on disk, and when it was looked at: looking costs a walk over its folder.
    store_bytes: Mutex<Option<(Instant, u64)>>,
    state_hashes: StateHashes,
    description: OnceLock<Bytes>,
}

/// An operation with its handler.
type Route = crate::http::route::Route<Arc<Api>>;

/// The result of a route.
type Answered = Result<Response, Refusal>;

/// A JSON answer.
fn json(value: &impl Serialize) -> Answered {
    Ok(Json(value).into_response())
}

/// Listens and serves.
pub(super) async fn start(
    options: HttpOptions,
    shared: Arc<ChainNodeState>,
    config: ChainConfig,
    snapshots: PathBuf,
) -> Result<HttpHandle, ListenError> {
    let counters = shared.metrics.http.clone();
    listen(options, counters, |front| {
        router(Arc::new(Api {
            front: Arc::clone(front),
            submits: Arc::new(Semaphore::new(
                config.api.submits_max.min(Semaphore::MAX_PERMITS),
            )),
            shared,
            config,
            snapshots,
            started_at_ms: unix_ms(),
            store_bytes: Mutex::default(),
            state_hashes: StateHashes::new(),
            description: OnceLock::new(),
        }))
    })
    .await
}

/// Returns all operations with their handlers.
fn routes() -> impl Iterator<Item = Route> {
    status::routes()
        .chain(reads::routes())
        .chain(transactions::routes())
        .chain(forging::routes())
        .chain(equivocations::routes())
        .chain(orders::routes())
        .chain(events::routes())
        .chain(page::routes())
}

fn router(api: Arc<Api>) -> Router {
    let (everybody, operators): (Vec<_>, Vec<_>) =
        routes().partition(|route| route.operation.permission == Permission::Anyone);
    let operators =
        router_of(operators).route_layer(from_fn_with_state(Arc::clone(&api), operator));
    let everybody = router_of(everybody).route("/", get(page::page));
    Router::new()
        .merge(operators)
        .merge(everybody)
        .fallback(no_such_path)
        .method_not_allowed_fallback(method_not_allowed)
        // Bodies are read by `parameters::whole`, which has limits of its own.
        .layer(DefaultBodyLimit::disable())
        .layer(from_fn_with_state(Arc::clone(&api), placed))
        .with_state(api)
}

/// Claims a place for a request: from the share of its operator if it carries a valid token, or else from the share of anonymous
/// clients, which may read and submit. `/health` is always answered.
async fn placed(
    State(api): State<Arc<Api>>,
    mut request: Request,
    next: Next,
) -> Result<Response, Refusal> {
    let visitor = Arc::clone(visitor(&request)?);
    // A connection that carries a request is one that is used.
    visitor.earn();
    if request.uri().path() == operations::HEALTH.path {
        return Ok(next.run(request).await);
    }
    let caller = api.front.options.tokens.caller(request.headers(), None);
    let claim = match caller {
        Ok(caller) => api.front.claim_of(&caller.name, &visitor)?,
        Err(_) => visitor.claim(),
    };
    let place = claim.take(Resource::Requests);
    let place = place.ok_or_else(|| no_place("requests"))?;
    request.extensions_mut().insert(claim.clone());
    let patience = api.front.options.write_patience;
    Ok(answer_within(place, &claim, patience, request, next).await)
}

/// Refuses requests without an operator's token.
async fn operator(
    State(api): State<Arc<Api>>,
    request: Request,
    next: Next,
) -> Result<Response, Refusal> {
    match api.front.options.tokens.caller(request.headers(), None) {
        Ok(caller) => {
            let (method, path) = (request.method().clone(), request.uri().path().to_owned());
            let response = next.run(request).await;
            tracing::info!(
                user = %caller.name,
                %method,
                path,
                status = response.status().as_u16(),
                "an operator's order"
            );
            Ok(response)
        }
        Err(refusal) => {
            discard(request.into_body()).await;
            Err(refusal)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_operation_has_one_handler() {
        let handled: Vec<&str> = routes().map(|route| route.operation.id).collect();
        let described: BTreeSet<&str> = operations::operations()
            .map(|operation| operation.id)
            .collect();
        assert_eq!(handled.len(), described.len());
        assert_eq!(handled.into_iter().collect::<BTreeSet<_>>(), described);
    }
}
