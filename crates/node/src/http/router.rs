//! Which request goes where.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use api::codes::{INTERNAL, METHOD_NOT_ALLOWED, NO_SUCH_PATH};
use api::paths;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::Uri;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post};
use tokio::sync::{Semaphore, watch};
use tower::ServiceExt;

use super::connection::Trust;
use super::contain::contain;
use super::options::HttpOptions;
use super::randomness::Randomness;
use super::refusal::Refusal;
use super::routes::{batch, description, events, flows, reads, status, vault};
use super::service::NodeService;
use super::stream;
use super::vault_tail::VaultTail;
use crate::metrics::NodeMetrics;

/// What every request needs.
pub(super) struct ApiState {
    pub(super) service: Arc<dyn NodeService>,
    pub(super) options: HttpOptions,
    pub(super) metrics: Arc<NodeMetrics>,
    pub(super) randomness: Randomness,
    /// Places for requests, for streams, and for bytes of bodies.
    pub(super) places: Places,
    /// The API's description, once somebody asked for it.
    pub(super) description: OnceLock<Bytes>,
    /// What followers of the vault share.
    pub(super) vault_tail: VaultTail,
    /// True once the server stops.
    pub(super) stopping: watch::Receiver<bool>,
}

/// What bounds the memory that all clients together can take.
pub(super) struct Places {
    pub(super) requests: Semaphore,
    pub(super) streams: Arc<Semaphore>,
    pub(super) followers: Arc<Semaphore>,
    pub(super) body_bytes: Semaphore,
}

impl Places {
    pub(super) fn new(options: &HttpOptions) -> Self {
        let places = |most: usize| Semaphore::new(most.clamp(1, Semaphore::MAX_PERMITS));
        Self {
            requests: places(options.requests_max),
            streams: Arc::new(places(options.streams_max)),
            followers: Arc::new(places(options.followers_max)),
            body_bytes: places(options.bodies_bytes_max),
        }
    }
}

/// What "busy" suggests when a place is missing.
const PLACE_RETRY_MS: u64 = 200;

/// No place: try again later.
pub(super) fn no_place(what: &str) -> Refusal {
    Refusal {
        message: format!("the node serves as many {what} as it accepts"),
        ..Refusal::busy(PLACE_RETRY_MS)
    }
}

/// Whose token the request carried.
#[derive(Clone, Debug)]
pub(super) struct User(pub(super) Arc<str>);

/// All routes.
pub(super) fn router(state: Arc<ApiState>) -> Router {
    let with_token = Router::new()
        .route(paths::FLOWS, post(flows::start).get(flows::list))
        .route(paths::FLOW_BATCH, post(batch::start))
        .route(paths::FLOW, get(flows::state))
        .route(paths::FLOW_EVENTS, get(events::flow))
        .route(paths::FLOW_CANCEL, post(flows::cancel))
        .route(paths::CLIENT, delete(flows::forget_client_id))
        .route(paths::STREAM, post(stream::open))
        .route(paths::BALANCES, get(reads::balances))
        .route(paths::STATES, get(reads::states))
        .route(paths::VAULT_EVENTS, get(events::vault))
        .route(paths::TRANSACTION, get(reads::transaction))
        .route(paths::LEDGER, get(reads::ledger))
        .route(paths::VAULT_QUERY, post(vault::query))
        .route(paths::CONSUMED, get(reads::consumed))
        .route(paths::NODE, get(status::node))
        .route(paths::NETWORK, get(status::network))
        .route(paths::DRAIN, post(status::drain))
        .route(paths::METRICS, get(status::metrics))
        .route(paths::OPENAPI, get(description::openapi))
        .route_layer(from_fn_with_state(Arc::clone(&state), authenticate));
    Router::new()
        .merge(with_token)
        .route(paths::HEALTH, get(status::health))
        .route(paths::DOCS, get(description::page))
        .fallback(no_such_path)
        .method_not_allowed_fallback(method_not_allowed)
        .with_state(state)
}

/// Answers one request, whatever happens while doing so.
pub(super) async fn respond(state: &ApiState, router: Router, request: Request<Body>) -> Response {
    let start = Instant::now();
    let place = state.places.requests.try_acquire();
    if place.is_err() && request.uri().path() != paths::HEALTH {
        let response = no_place("requests").into_response();
        state
            .metrics
            .http_answered(response.status().as_u16(), start.elapsed());
        return response;
    }
    let response = match contain(router.oneshot(request)).await {
        Ok(Ok(response)) => response,
        Ok(Err(impossible)) => match impossible {},
        Err(panic) => {
            tracing::error!(code = INTERNAL.code, %panic, "a request met a bug");
            Refusal::listed(&INTERNAL, "the node met a bug while answering").into_response()
        }
    };
    state
        .metrics
        .http_answered(response.status().as_u16(), start.elapsed());
    response
}

async fn authenticate(
    State(state): State<Arc<ApiState>>,
    mut request: Request,
    next: Next,
) -> Result<Response, Refusal> {
    let user = state.options.tokens.user(request.headers())?;
    if let Some(trust) = request.extensions().get::<Trust>() {
        trust.earn();
    }
    request.extensions_mut().insert(User(user));
    Ok(next.run(request).await)
}

async fn no_such_path(uri: Uri) -> Refusal {
    Refusal::listed(&NO_SUCH_PATH, format!("nothing is at {}", uri.path()))
}

async fn method_not_allowed(request: Request) -> Refusal {
    let text = format!("{} has no {}", request.uri().path(), request.method());
    Refusal::listed(&METHOD_NOT_ALLOWED, text)
}
