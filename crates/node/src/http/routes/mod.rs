//! One function for each request. Each takes HTTP apart, asks the service, and puts the answer together.

pub(super) mod attachments;
pub(super) mod batch;
pub(super) mod consents;
pub(super) mod description;
pub(super) mod endpoints;
pub(super) mod events;
pub(super) mod flows;
pub(super) mod hospital;
pub(super) mod ledger;
pub(super) mod login;
pub(crate) mod parameters;
pub(super) mod reads;
mod receive;
pub(super) mod recovery;
pub(super) mod status;
pub(super) mod uploads;
pub(super) mod users;
pub(super) mod vault;

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use super::refusal::Refusal;

/// What a route gives.
pub(super) type Answered = Result<Response, Refusal>;

/// A JSON answer.
fn json(status: StatusCode, value: &impl Serialize) -> Answered {
    Ok((status, Json(value)).into_response())
}
