//! One function for each request. Each takes HTTP apart, asks the service, and puts the answer together.

mod attachments;
mod batch;
mod consents;
mod description;
mod endpoints;
mod events;
pub(super) mod flows;
mod hospital;
mod ledger;
mod login;
pub(crate) mod parameters;
mod reads;
mod receive;
mod recovery;
pub(super) mod status;
mod uploads;
mod users;
mod vault;

use std::sync::Arc;

use api::operations;
use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use super::refusal::Refusal;
pub(super) use super::route::route;
use super::router::ApiState;
use super::stream;

/// An operation with its handler.
pub(super) type Route = super::route::Route<Arc<ApiState>>;

/// Returns all operations with their handlers, except `/health`.
pub(super) fn all() -> impl Iterator<Item = Route> {
    flows::routes()
        .chain(batch::routes())
        .chain(endpoints::routes())
        .chain(events::routes())
        .chain(hospital::routes())
        .chain([route(&operations::STREAM, stream::open)])
        .chain(reads::routes())
        .chain(vault::routes())
        .chain(ledger::routes())
        .chain(attachments::routes())
        .chain(uploads::routes())
        .chain(recovery::routes())
        .chain(users::routes())
        .chain(consents::routes())
        .chain(status::routes())
        .chain(description::routes())
        .chain(login::routes())
}

/// The result of a handler.
pub(super) type Answered = Result<Response, Refusal>;

/// A JSON answer.
fn json(status: StatusCode, value: &impl Serialize) -> Answered {
    Ok((status, Json(value)).into_response())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_operation_has_one_handler() {
        let mut handled: Vec<&str> = all().map(|route| route.operation.id).collect();
        handled.push(operations::HEALTH.id);
        let described = operations::operations().map(|operation| operation.id);
        // The description has an operation for each flow instead.
        let described: BTreeSet<&str> = described
            .chain([operations::START_FLOW_AT_ENDPOINT.id])
            .collect();
        assert_eq!(handled.len(), described.len());
        assert_eq!(handled.into_iter().collect::<BTreeSet<_>>(), described);
    }
}
