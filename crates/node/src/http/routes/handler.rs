//! Forms that the handlers of all requests share.

use std::sync::Arc;

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::http::refusal::Refusal;
pub(super) use crate::http::route::route;
use crate::http::state::ApiState;

/// An operation with its handler.
pub(super) type Route = crate::http::route::Route<Arc<ApiState>>;

/// The result of a handler.
pub(super) type Answered = Result<Response, Refusal>;

/// A JSON answer.
pub(super) fn json(status: StatusCode, value: &impl Serialize) -> Answered {
    Ok((status, Json(value)).into_response())
}
