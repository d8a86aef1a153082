//! The chain node's HTTP API: `api::chain` says what there is.

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

use api::chain::paths;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post};
use axum::{Json, Router};
use serde::Serialize;
use tokio::sync::Semaphore;

use super::clock::unix_ms;
use super::config::ChainConfig;
use super::reads::StateHashes;
use super::shared::Shared;
use crate::http::front::{Front, no_place};
use crate::http::router::{method_not_allowed, no_such_path, visitor};
use crate::http::share::Resource;
use crate::http::unread::discard;
use crate::http::{HttpHandle, HttpOptions, ListenError, Refusal};

/// What every request needs.
struct Api {
    front: Arc<Front>,
    shared: Arc<Shared>,
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

/// What a route gives.
type Answered = Result<Response, Refusal>;

/// A JSON answer.
fn json(value: &impl Serialize) -> Answered {
    Ok(Json(value).into_response())
}

/// Listens and serves.
pub(super) async fn start(
    options: HttpOptions,
    shared: Arc<Shared>,
    config: ChainConfig,
    snapshots: PathBuf,
) -> Result<HttpHandle, ListenError> {
    let counters = shared.metrics.http.clone();
    Front::start(options, counters, |front| {
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

fn router(api: Arc<Api>) -> Router {
    let operators = Router::new()
        .route(paths::FORGING, post(forging::start))
        .route(paths::FORGING_ACCOUNT, delete(forging::stop))
        .route(paths::BUNDLERS, post(forging::start_bundler))
        .route(paths::BUNDLER, delete(forging::stop_bundler))
        .route(paths::PEER_BAN, post(orders::ban).delete(orders::unban))
        .route(paths::POP_OFF, post(orders::pop_off))
        .route(paths::CLEAR_POOL, post(orders::clear_pool))
        .route(paths::PRUNE, post(orders::prune))
        .route(paths::TRUST, post(orders::trust))
        .route(paths::SNAPSHOT, post(orders::snapshot))
        .route_layer(from_fn_with_state(Arc::clone(&api), operator));
    let everybody = Router::new()
        .route(paths::CONSTANTS, get(status::constants))
        .route(paths::STATUS, get(status::status))
        .route(paths::BLOCKS, get(reads::blocks))
        .route(paths::BLOCK, get(reads::block))
        .route(paths::BLOCK_TRANSACTIONS, get(reads::block_transactions))
        .route(paths::TRANSACTIONS, post(transactions::submit))
        .route(paths::TRANSACTION_BATCH, post(transactions::submit_batch))
        .route(paths::TRANSACTION, get(transactions::transaction))
        .route(paths::UNCONFIRMED, get(transactions::unconfirmed))
        .route(paths::PREPARE, post(transactions::prepare))
        .route(paths::SIGN_AND_SEND, post(transactions::sign_and_send))
        .route(paths::BALANCES, get(reads::balances))
        .route(paths::ACCOUNT, get(reads::account))
        .route(
            paths::ACCOUNT_TRANSACTIONS,
            get(reads::account_transactions),
        )
        .route(paths::FORGING, get(forging::list))
        .route(paths::FORGERS, get(forging::forgers))
        .route(paths::BUNDLERS, get(forging::bundlers))
        .route(paths::RATES, get(forging::rates))
        .route(paths::EQUIVOCATIONS, get(equivocations::list))
        .route(paths::PEERS, get(orders::peers))
        .route(paths::EVENTS, get(events::follow))
        .route(paths::STATE_HASH, get(reads::state_hash))
        .route(paths::OPENAPI, get(page::openapi))
        .route(paths::PAGE, get(page::page))
        .route("/", get(page::page))
        .route(api::paths::METRICS, get(status::metrics))
        .route(api::paths::HEALTH, get(status::health));
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

/// Gives a request its place: of its operator if it carries a good token, else among those of anonymous clients, who may read and
/// submit. `/health` is always answered.
async fn placed(
    State(api): State<Arc<Api>>,
    mut request: Request,
    next: Next,
) -> Result<Response, Refusal> {
    let visitor = Arc::clone(visitor(&request)?);
    // A connection that carries a request is one that is used.
    visitor.earn();
    if request.uri().path() == api::paths::HEALTH {
        return Ok(next.run(request).await);
    }
    let caller = api.front.options.tokens.caller(request.headers(), None);
    let claim = match caller {
        Ok(caller) => api.front.claim_of(&caller.name, &visitor)?,
        Err(_) => visitor.claim(),
    };
    let place = claim.take(Resource::Requests);
    let _place = place.ok_or_else(|| no_place("requests"))?;
    request.extensions_mut().insert(claim);
    Ok(next.run(request).await)
}

/// Lets operators in, and nobody else.
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
