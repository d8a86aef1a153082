//! An endpoint for each flow: the path names it, the body is its arguments, the answer its outcome.

use std::sync::Arc;

use api::codes::{BAD_CLIENT_ID, BAD_PARAMETER};
use api::operations;
use api::{StartFlow, Wait};
use axum::Extension;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::HeaderMap;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::flows::started;
use super::handler::{Answered, Route, route};
use super::parameters::{ClaimedBody, checked_client_id, from_json, query, segment, whole};
use crate::http::connections::ClientAddress;
use crate::http::refusal::Refusal;
use crate::http::state::ApiState;
use crate::users::Caller;

/// The operations that this module answers.
pub(super) fn routes() -> impl Iterator<Item = Route> {
    [route(&operations::START_FLOW_AT_ENDPOINT, start)].into_iter()
}

/// The header that is equivalent to `client_id`.
const IDEMPOTENCY_KEY: &str = "idempotency-key";
/// The arguments of an empty body.
const NOTHING: &[u8] = b"{}";

/// `?wait=&timeout_ms=&client_id=&version=`
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct StartQuery {
    wait: Option<Wait>,
    timeout_ms: Option<u64>,
    client_id: Option<String>,
    version: Option<u32>,
}

/// `POST /v1/flows/{name}`. Whether the user may is looked at before the body is read.
pub(in crate::http) async fn start(
    State(state): State<Arc<ApiState>>,
    Extension(caller): Extension<Caller>,
    Extension(address): Extension<ClientAddress>,
    headers: HeaderMap,
    name: Result<Path<String>, PathRejection>,
    parameters: Result<Query<StartQuery>, QueryRejection>,
    body: ClaimedBody,
) -> Answered {
    let wish = match wish(&headers, name, parameters) {
        Ok(wish) => wish,
        Err(refusal) => {
            body.discard().await;
            return Err(refusal);
        }
    };
    let announced = body.announced();
    let admitted = caller
        .check_start(&wish.flow)
        .and_then(|()| state.admit(&caller, announced));
    if admitted.is_err() {
        body.discard().await;
        return started(&state, (&caller, address), &wish, admitted).await;
    }
    let (body, _place) = whole(body, &state.options).await?;
    let fits = state.fits(&caller, body.len());
    let args = match body.trim_ascii() {
        [] => NOTHING,
        body => body,
    };
    let args: &RawValue = from_json(args)?;
    let wish = StartFlow {
        args: args.to_owned(),
        ..wish
    };
    drop(body);
    started(&state, (&caller, address), &wish, fits).await
}

/// Returns the start that the head of a request describes.
fn wish(
    headers: &HeaderMap,
    name: Result<Path<String>, PathRejection>,
    parameters: Result<Query<StartQuery>, QueryRejection>,
) -> Result<StartFlow, Refusal> {
    let flow = segment(name)?;
    let parameters = query(parameters)?;
    let client_id = client_id(headers, parameters.client_id)?;
    checked_client_id(client_id.as_deref())?;
    Ok(StartFlow {
        flow,
        version: parameters.version,
        args: RawValue::NULL.to_owned(),
        client_id,
        wait: parameters.wait.unwrap_or_default(),
        timeout_ms: parameters.timeout_ms,
    })
}

/// Returns the client id of the query or of the header, where it may be quoted. If both are present, they must be equal.
fn client_id(headers: &HeaderMap, of_query: Option<String>) -> Result<Option<String>, Refusal> {
    let mut keys = headers.get_all(IDEMPOTENCY_KEY).into_iter();
    let Some(key) = keys.next() else {
        return Ok(of_query);
    };
    let bad = |text: &str| Refusal::listed(&BAD_CLIENT_ID, text);
    let key = std::str::from_utf8(key.as_bytes())
        .map_err(|_| bad("the header Idempotency-Key is not UTF-8"))?
        .trim();
    let unquoted = key
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
        // Quotes may be left out.
        .unwrap_or(key);
    let is_other = of_query.as_deref().is_some_and(|id| id != unquoted);
    if is_other || keys.next().is_some() {
        let text = "client_id and Idempotency-Key name different starts; send one of them";
        return Err(Refusal::listed(&BAD_PARAMETER, text));
    }
    Ok(Some(unquoted.to_owned()))
}
