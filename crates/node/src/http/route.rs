//! Operations with their handlers, as the rows of [`api::operations`] describe them.

use api::operations::{Method, Operation, Permission};
use axum::Router;
use axum::handler::Handler;
use axum::middleware::from_fn;
use axum::routing::{MethodFilter, MethodRouter, on};

use super::query_check::check_query;

/// An operation with its handler.
pub(crate) struct Route<S> {
    pub(crate) operation: &'static Operation,
    handler: MethodRouter<S>,
}

/// Returns an operation with its handler.
pub(crate) fn route<S, H, T>(operation: &'static Operation, handler: H) -> Route<S>
where
    S: Clone + Send + Sync + 'static,
    H: Handler<T, S>,
    T: 'static,
{
    let filter = match operation.method {
        Method::Get => MethodFilter::GET,
        Method::Post => MethodFilter::POST,
        Method::Patch => MethodFilter::PATCH,
        Method::Delete => MethodFilter::DELETE,
    };
    let mut handler = on(filter, handler);
    // A request for which nothing is needed, such as a probe of the health, may carry anything.
    if operation.permission != Permission::Anyone {
        let check = move |request, next| check_query(operation, request, next);
        handler = handler.layer(from_fn(check));
    }
    Route { operation, handler }
}

/// Returns a router of these operations.
pub(crate) fn router_of<S>(routes: impl IntoIterator<Item = Route<S>>) -> Router<S>
where
    S: Clone + Send + Sync + 'static,
{
    routes.into_iter().fold(Router::new(), |router, route| {
        router.route(route.operation.path, route.handler)
    })
}
