//! Recorded data: bytes, back chains, notes. Also the starts that states have scheduled.

use std::sync::Arc;

use api::codes::{BAD_PARAMETER, INTERNAL, NOTE_REFUSED};
use api::operations;
use api::{NewNote, NoteList};
use axum::Extension;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::{HeaderValue, StatusCode, header::CONTENT_TYPE};
use axum::response::IntoResponse;
use ledger::TxId;

use super::handler::{Answered, Route, json, route};
use super::parameters::{ClaimedBody, PageQuery, from_json, parsed, query, segment, whole};
use crate::http::refusal::Refusal;
use crate::http::state::ApiState;
use crate::users::Caller;

/// The operations that this module answers.
pub(super) fn routes() -> impl Iterator<Item = Route> {
    [
        route(&operations::TRANSACTION_BYTES, bytes),
        route(&operations::TRANSACTION_CHAIN, chain),
        route(&operations::NOTES, notes),
        route(&operations::ADD_NOTE, add_note),
        route(&operations::REMOVE_NOTE, remove_note),
        route(&operations::SCHEDULE, schedule),
    ]
    .into_iter()
}

/// `GET /v1/transactions/{transaction_id}/bytes`
pub(in crate::http) async fn bytes(
    State(state): State<Arc<ApiState>>,
    id: Result<Path<String>, PathRejection>,
) -> Answered {
    let transaction = state.services.ledger.transaction(transaction(id)?).await?;
    let bytes = primitives::hex::decode(&transaction.bytes)
        .ok_or_else(|| Refusal::listed(&INTERNAL, "the bytes of a transaction are unreadable"))?;
    let media = HeaderValue::from_static("application/octet-stream");
    Ok(([(CONTENT_TYPE, media)], bytes).into_response())
}

/// `GET /v1/transactions/{transaction_id}/chain`
pub(in crate::http) async fn chain(
    State(state): State<Arc<ApiState>>,
    id: Result<Path<String>, PathRejection>,
    parameters: Result<Query<PageQuery>, QueryRejection>,
) -> Answered {
    let (id, page) = (transaction(id)?, query(parameters)?);
    let (after, limit) = (page.after()?, page.limit(&state.options));
    json(
        StatusCode::OK,
        &state.services.ledger.chain(id, after, limit).await?,
    )
}

/// `GET /v1/transactions/{transaction_id}/notes`
pub(in crate::http) async fn notes(
    State(state): State<Arc<ApiState>>,
    id: Result<Path<String>, PathRejection>,
) -> Answered {
    let notes = state.services.ledger.notes(transaction(id)?).await?;
    json(StatusCode::OK, &NoteList { notes })
}

/// `POST /v1/transactions/{transaction_id}/notes`
pub(in crate::http) async fn add_note(
    State(state): State<Arc<ApiState>>,
    Extension(caller): Extension<Caller>,
    id: Result<Path<String>, PathRejection>,
    body: ClaimedBody,
) -> Answered {
    let id = transaction(id)?;
    let (body, _place) = whole(body, &state.options).await?;
    let note: NewNote = from_json(&body)?;
    if note.text.is_empty() || note.text.len() > api::notes::NOTE_BYTES_MAX {
        let most = api::notes::NOTE_BYTES_MAX;
        let text = format!("a note has 1 to {most} bytes, this one {}", note.text.len());
        return Err(Refusal::listed(&NOTE_REFUSED, text));
    }
    let made = state
        .services
        .ledger
        .add_note(id, &caller.name, note.text)
        .await?;
    json(StatusCode::CREATED, &made)
}

/// `DELETE /v1/transactions/{transaction_id}/notes/{note_id}`
pub(in crate::http) async fn remove_note(
    State(state): State<Arc<ApiState>>,
    path: Result<Path<(String, String)>, PathRejection>,
) -> Answered {
    let Path((id, note)) =
        path.map_err(|rejection| Refusal::listed(&BAD_PARAMETER, rejection.body_text()))?;
    let id: TxId = parsed("transaction id", &id)?;
    let note = primitives::hex::decode(&note)
        .and_then(|note| note.try_into().ok())
        .ok_or_else(|| Refusal::listed(&BAD_PARAMETER, format!("'{note}' is no note id")))?;
    state.services.ledger.remove_note(id, note).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// `GET /v1/schedule`
pub(in crate::http) async fn schedule(
    State(state): State<Arc<ApiState>>,
    parameters: Result<Query<PageQuery>, QueryRejection>,
) -> Answered {
    let page = query(parameters)?;
    let after = page.after.as_deref().map(|text| {
        primitives::hex::decode(text)
            .filter(|key| key.len() == kernel::rows::SCHEDULE_KEY_BYTES)
            .ok_or_else(|| {
                Refusal::listed(&BAD_PARAMETER, format!("'{text}' is no place of a page"))
            })
    });
    let limit = page.limit(&state.options);
    let page = state
        .services
        .ledger
        .schedule(after.transpose()?, limit)
        .await?;
    json(StatusCode::OK, &page)
}

fn transaction(id: Result<Path<String>, PathRejection>) -> Result<TxId, Refusal> {
    parsed("transaction id", &segment(id)?)
}
