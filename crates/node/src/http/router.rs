//! The router: it leads each request to its handler.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use api::codes::{INTERNAL, METHOD_NOT_ALLOWED, NO_SUCH_PATH};
use api::operations::{self, Operation, Permission};
use axum::Router;
use axum::body::{Body, HttpBody};
use axum::extract::{MatchedPath, Request, State};
use axum::http::Method;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use tower::ServiceExt;

use super::claim::{Claim, SMALL_BODY_BYTES};
use super::connections::{ClientAddress, Visitor};
use super::contain::contain;
use super::cut::Cut;
use super::front::Front;
use super::permits;
use super::place::{AnswerPlace, OwnPlaces, RequestPlace, SharedBytes};
use super::problem::RefusedWith;
use super::refusal::{Refusal, no_place};
use super::route::{route, router_of};
use super::routes::{self, status};
use super::share::{Reserved, Resource};
use super::state::{About, ApiState, Subject, User};
use super::unread::discard;
use crate::users::{AuditLine, AuditNote, Caller};

/// All routes.
pub(super) fn router(state: Arc<ApiState>) -> Router {
    let (anyone, with_token): (Vec<_>, Vec<_>) =
        routes::all().partition(|route| route.operation.permission == Permission::Anyone);
    let with_token =
        router_of(with_token).route_layer(from_fn_with_state(Arc::clone(&state), authenticate));
    let without_token =
        router_of(anyone).route_layer(from_fn_with_state(Arc::clone(&state), anonymous));
    // Always answered: it takes no place.
    let health = router_of([route(&operations::HEALTH, status::health)]);
    // People who open the address in a browser want the description.
    let front_door = get(async || Redirect::temporary(operations::DOCS.path));
    Router::new()
        .route("/", front_door)
        .merge(with_token)
        .merge(without_token)
        .merge(health)
        .fallback(no_such_path)
        .method_not_allowed_fallback(method_not_allowed)
        .with_state(state)
}

/// Answers one request. A panic becomes an answer too.
pub(crate) async fn respond(front: &Front, router: Router, request: Request<Body>) -> Response {
    let start = Instant::now();
    let response = match contain(router.oneshot(request)).await {
        Ok(Ok(response)) => response,
        Ok(Err(impossible)) => match impossible {},
        Err(panic) => {
            tracing::error!(code = INTERNAL.code, %panic, "a request met a bug");
            Refusal::listed(&INTERNAL, "the node met a bug while answering").into_response()
        }
    };
    front
        .counters
        .answered(response.status().as_u16(), start.elapsed());
    response
}

async fn authenticate(
    State(state): State<Arc<ApiState>>,
    mut request: Request,
    next: Next,
) -> Result<Response, Refusal> {
    match let_in(&state, &request) {
        Ok((caller, claim, note)) => {
            let place = claim.take(Resource::Requests);
            let place = place.ok_or_else(|| no_place("requests"))?;
            let patience = state.options.write_patience;
            let extensions = request.extensions_mut();
            extensions.insert(User(Arc::clone(&caller.name)));
            extensions.insert(caller);
            extensions.insert(claim.clone());
            let response = answer_within(place, &claim, patience, request, next).await;
            if let Some(mut note) = note {
                if let Some(About(text)) = response.extensions().get() {
                    note.about(text.clone());
                }
                if let Some(Subject(user)) = response.extensions().get() {
                    note.of(user);
                }
                note.end(refused_with(&response).as_deref());
            }
            Ok(response)
        }
        Err(refusal) => {
            discard_unwanted(request).await;
            Err(refusal)
        }
    }
}

/// Gives a request without a token its place among those of anonymous clients.
async fn anonymous(
    State(state): State<Arc<ApiState>>,
    mut request: Request,
    next: Next,
) -> Result<Response, Refusal> {
    let patience = state.options.write_patience;
    let claim = visitor(&request)?.claim();
    let place = claim.take(Resource::Requests);
    let place = place.ok_or_else(|| no_place("requests without a token"))?;
    request.extensions_mut().insert(claim.clone());
    Ok(answer_within(place, &claim, patience, request, next).await)
}

/// The time in which a client has to take a large answer: this for each piece of 64 KiB, after the time for a single piece.
const TIME_PER_PIECE: Duration = Duration::from_secs(1);

/// Answers a request that has its place. The answer holds the place until it is sent. A large answer of a read needs a place for its bytes as
/// well, and has a deadline. An answer of anything else is never refused here: its work is done, and the client has to learn that.
pub(crate) async fn answer_within(
    place: Reserved,
    claim: &Claim,
    patience: Duration,
    request: Request,
    next: Next,
) -> Response {
    let place = RequestPlace::new(place);
    let is_read = is_read(&request);
    let cut = request.extensions().get::<Cut>().cloned();
    let response = place.clone().within(next.run(request)).await;
    // A body of unknown length has bounds of its own.
    let length = response.body().size_hint().exact().unwrap_or_default();
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let extensions = response.extensions();
    let takes_none =
        extensions.get::<OwnPlaces>().is_some() || extensions.get::<SharedBytes>().is_some();
    if length <= SMALL_BODY_BYTES || !is_read || takes_none {
        return place.held_by(response, None);
    }
    match claim.take_answer(length) {
        Some(bytes) => {
            // Clipped at 2^32 pieces, more than any memory has.
            let pieces = u32::try_from(length / SMALL_BODY_BYTES).unwrap_or(u32::MAX);
            let most = patience + TIME_PER_PIECE * pieces;
            place.held_by(response, Some(AnswerPlace::new(bytes, cut, most)))
        }
        None => no_place("large answers that wait to be sent").into_response(),
    }
}

/// Returns whether a request changes nothing.
fn is_read(request: &Request) -> bool {
    let path = request.uri().path();
    matches!(*request.method(), Method::GET | Method::HEAD)
        || path == operations::QUERY_VAULT.row.path
}

/// The connection that a request came on.
pub(crate) fn visitor(request: &Request) -> Result<&Arc<Visitor>, Refusal> {
    let found = request.extensions().get::<Arc<Visitor>>();
    found.ok_or_else(|| Refusal::listed(&INTERNAL, "the request came on no connection"))
}

/// Reads and discards the body of a refused request, if its address has a place for that.
async fn discard_unwanted(request: Request) {
    let claim = visitor(&request).ok().map(|visitor| visitor.claim());
    if let Some(_place) = claim.and_then(|claim| claim.take(Resource::Requests)) {
        discard(request.into_body()).await;
    }
}

/// Returns the code of an answer that is a refusal.
fn refused_with(response: &Response) -> Option<Cow<'static, str>> {
    if response.status().is_success() {
        return None;
    }
    let code = response.extensions().get::<RefusedWith>();
    Some(code.map_or(Cow::Borrowed(INTERNAL.code), |code| code.0.clone()))
}

/// Returns the caller, if the caller may do this, with its claim and the line of the audit log that the answer ends.
fn let_in(
    state: &ApiState,
    request: &Request,
) -> Result<(Caller, Claim, Option<AuditNote>), Refusal> {
    let users = state.options.users.as_deref();
    let caller = state.options.tokens.caller(request.headers(), users)?;
    let claim = state.front.claim_of(&caller.name, visitor(request)?)?;
    let operation = operation_of(request);
    let allowed = permits::check(&caller, operation);
    let note = note(state, &caller, request, operation, allowed.is_err());
    match allowed {
        Ok(()) => Ok((caller, claim, note)),
        Err(refusal) => {
            if let Some(note) = note {
                note.end(Some(&refusal.code));
            }
            Err(refusal)
        }
    }
}

/// Returns the operation of a request. It is `None` if the router has a path that no row describes, which a test excludes.
fn operation_of(request: &Request) -> Option<&'static Operation> {
    let path = request.extensions().get::<MatchedPath>()?.as_str();
    let method = match *request.method() {
        Method::HEAD => "GET",
        ref method => method.as_str(),
    };
    let endpoint = std::iter::once(&operations::START_FLOW_AT_ENDPOINT.row);
    let mut all = operations::operations().chain(endpoint);
    all.find(|operation| operation.path == path && operation.method.as_str() == method)
}

/// Returns a line of the audit log, if the operation is refused or its row says so.
fn note(
    state: &ApiState,
    caller: &Caller,
    request: &Request,
    operation: Option<&Operation>,
    refused: bool,
) -> Option<AuditNote> {
    let audit = state.options.audit.as_ref()?;
    if !refused && operation.is_some_and(|operation| !operation.audited) {
        return None;
    }
    let address = request.extensions().get::<ClientAddress>();
    let action = format!("{} {}", request.method(), request.uri().path());
    let action: String = action.chars().take(512).collect();
    let line = AuditLine::new(Arc::clone(&caller.name), address.and_then(|a| a.0), &action);
    let mut note = AuditNote::new(audit, line);
    let template = operation.map_or("", |operation| operation.path);
    if let Some(user) = segment_of(template, request.uri().path(), "{user}") {
        note.of(user);
    }
    Some(note)
}

/// The segment of a path that stands where its template has a name.
fn segment_of<'a>(template: &str, path: &'a str, name: &str) -> Option<&'a str> {
    let mut segments = template.split('/').zip(path.split('/'));
    let found = segments.find(|(segment, _)| *segment == name);
    found.map(|(_, segment)| segment)
}

pub(crate) async fn no_such_path(request: Request) -> Refusal {
    let text = format!("nothing is at {}", request.uri().path());
    discard_unwanted(request).await;
    Refusal::listed(&NO_SUCH_PATH, text)
}

pub(crate) async fn method_not_allowed(request: Request) -> Refusal {
    let text = format!("{} has no {}", request.uri().path(), request.method());
    discard_unwanted(request).await;
    Refusal::listed(&METHOD_NOT_ALLOWED, text)
}

#[cfg(test)]
mod tests {
    use axum::Extension;
    use axum::middleware::from_fn;
    use axum::routing::post;

    use super::*;
    use crate::http::share::{Share, ShareLimits};

    const LARGE: usize = 100_000;
    /// Room for one large answer and a half.
    const ROOM: usize = LARGE + LARGE / 2;

    fn large() -> Vec<u8> {
        vec![7; LARGE]
    }

    /// Routes with large answers, which draw on a share.
    fn routes(share: &Arc<Share>) -> Router {
        let claim = Claim::new(Arc::clone(share), Share::new(ShareLimits::unbounded()));
        let answer = move |request: Request, next: Next| {
            let claim = claim.clone();
            async move {
                let place = claim.take(Resource::Requests).expect("room");
                answer_within(place, &claim, Duration::from_secs(60), request, next).await
            }
        };
        Router::new()
            .route("/read", get(async || large()))
            .route("/small", get(async || vec![7; SMALL_BODY_BYTES]))
            .route("/larger", get(async || vec![7; 3 * LARGE]))
            .route("/shared", get(async || (Extension(SharedBytes), large())))
            .route("/download", get(async || (Extension(OwnPlaces), large())))
            .route("/change", post(async || large()))
            .route(operations::QUERY_VAULT.row.path, post(async || large()))
            .layer(from_fn(answer))
    }

    async fn status(routes: &Router, method: &Method, path: &str) -> (u16, Response) {
        let request = Request::builder().method(method).uri(path);
        let request = request.body(Body::empty()).expect("a request");
        let answer = routes.clone().oneshot(request).await;
        let response = answer.unwrap_or_else(|impossible| match impossible {});
        (response.status().as_u16(), response)
    }

    #[tokio::test]
    async fn large_answers_of_reads_draw_on_a_budget() {
        let (get, post) = (Method::GET, Method::POST);
        // The request while one large answer is not sent yet, and its status.
        for (method, path, expected) in [
            (&get, "/read", 503),
            (&post, operations::QUERY_VAULT.row.path, 503),
            (&get, "/small", 200),
            (&get, "/shared", 200),
            (&get, "/download", 200),
            (&post, "/change", 200),
        ] {
            let limits = ShareLimits::unbounded().with(Resource::AnswerBytes, ROOM);
            let share = Share::new(limits);
            let routes = routes(&share);
            let (first, unread) = status(&routes, &get, "/read").await;
            assert_eq!((first, share.used(Resource::AnswerBytes)), (200, LARGE));
            let (found, second) = status(&routes, method, path).await;
            assert_eq!(found, expected, "{path}");
            drop((unread, second));
            // Anything fits alone.
            let (alone, larger) = status(&routes, &get, "/larger").await;
            assert_eq!((alone, share.used(Resource::AnswerBytes)), (200, ROOM));
            drop(larger);
            let used = [Resource::AnswerBytes, Resource::Requests].map(|of| share.used(of));
            assert_eq!(used, [0, 0], "{path}");
        }
    }
}
