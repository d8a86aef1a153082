//! Uploads that can be interrupted.

use std::sync::Arc;

use api::attachments::UPLOAD_OFFSET;
use api::codes::{BAD_PARAMETER, UPLOAD_OFFSET as WRONG_OFFSET};
use api::operations;
use api::{AttachmentView, NewUpload};
use axum::Extension;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};

use super::attachments::{created, outcome, promise};
use super::handler::{Answered, Route, json, route};
use super::parameters::{ClaimedBody, from_json, parsed, segment, whole};
use super::receive::receive;
use crate::http::place;
use crate::http::refusal::Refusal;
use crate::http::state::ApiState;
use crate::http::unread::discard;
use crate::uploads::{Incoming, NotPublished, Upload};
use crate::users::Caller;

/// The operations that this module answers.
pub(super) fn routes() -> impl Iterator<Item = Route> {
    [
        route(&operations::BEGIN_UPLOAD, begin),
        route(&operations::UPLOAD_STATE, show),
        route(&operations::ADD_TO_UPLOAD, add),
        route(&operations::REMOVE_UPLOAD, remove),
        route(&operations::COMPLETE_UPLOAD, complete),
    ]
    .into_iter()
}

type Id = Result<Path<String>, PathRejection>;

/// `POST /v1/uploads`
pub(in crate::http) async fn begin(
    State(state): State<Arc<ApiState>>,
    Extension(caller): Extension<Caller>,
    body: ClaimedBody,
) -> Answered {
    let wish: NewUpload = {
        let (body, _place) = whole(body, &state.options).await?;
        from_json(&body)?
    };
    let (name, media_type) = (wish.name.clone(), wish.media_type.clone());
    let promise = promise(wish.size, wish.sha256.as_deref(), name, media_type)?;
    caller.check_upload(promise.media_type.as_deref())?;
    let view = state
        .services
        .attachments
        .uploads()
        .begin(&caller.name, wish)
        .await?;
    json(StatusCode::CREATED, &view)
}

/// `GET /v1/uploads/{upload_id}`
pub(in crate::http) async fn show(
    State(state): State<Arc<ApiState>>,
    Extension(caller): Extension<Caller>,
    id: Id,
) -> Answered {
    let upload = found(&state, &caller, id)?;
    json(
        StatusCode::OK,
        &state.services.attachments.uploads().view(&upload),
    )
}

/// `PATCH /v1/uploads/{upload_id}`
pub(in crate::http) async fn add(
    State(state): State<Arc<ApiState>>,
    Extension(caller): Extension<Caller>,
    id: Id,
    headers: HeaderMap,
    body: Body,
) -> Answered {
    let (upload, offset) = match found(&state, &caller, id).and_then(|upload| {
        let offset = offset(&headers)?;
        Ok((upload, offset))
    }) {
        Ok(found) => found,
        Err(refusal) => {
            discard(body).await;
            return Err(refusal);
        }
    };
    let uploads = state.services.attachments.uploads();
    let taken = async {
        let place = uploads.place(&caller.name)?;
        Ok::<_, Refusal>((place, uploads.take(&upload).await?))
    };
    let (place, mut incoming) = match taken.await {
        Ok(taken) => taken,
        Err(refusal) => {
            discard(body).await;
            return Err(refusal);
        }
    };
    if incoming.len() != offset {
        drop(incoming);
        discard(body).await;
        return Ok(wrong_offset(&upload));
    }
    let received = receive(body, &mut incoming, &place, &state.options).await;
    drop(incoming);
    received?;
    let mut response = json(StatusCode::OK, &uploads.view(&upload))?;
    set_offset(&mut response, &upload);
    Ok(response)
}

/// `POST /v1/uploads/{upload_id}/complete`
pub(in crate::http) async fn complete(
    State(state): State<Arc<ApiState>>,
    Extension(caller): Extension<Caller>,
    id: Id,
) -> Answered {
    let upload = found(&state, &caller, id)?;
    let incoming = state.services.attachments.uploads().take(&upload).await?;
    let (state, user) = (Arc::clone(&state), caller.name);
    // Goes on when the client does not wait for it: a file on the disk gets its row.
    let stored = place::spawn(async move { stored(&state, &upload, incoming, &user).await });
    let (view, is_new) = outcome(stored.await)?;
    json(created(is_new), &view)
}

async fn stored(
    state: &ApiState,
    upload: &Upload,
    incoming: Incoming,
    user: &Arc<str>,
) -> Result<(AttachmentView, bool), Refusal> {
    let service = &*state.services.attachments;
    let promise = upload.promise();
    let finished = incoming.finish().await;
    if !matches!(finished, Err(NotPublished::Kept(_))) {
        service.uploads().forget(upload);
    }
    let (name, media_type) = (promise.name, promise.media_type);
    let stored = service.store_attachment(finished?, name, media_type, user);
    stored.await
}

/// `DELETE /v1/uploads/{upload_id}`
pub(in crate::http) async fn remove(
    State(state): State<Arc<ApiState>>,
    Extension(caller): Extension<Caller>,
    id: Id,
) -> Answered {
    let upload = found(&state, &caller, id)?;
    state.services.attachments.uploads().remove(&upload).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

fn found(state: &ApiState, caller: &Caller, id: Id) -> Result<Arc<Upload>, Refusal> {
    let text = segment(id)?;
    let id = primitives::hex::decode_array(&text).ok_or_else(|| {
        let text = format!("'{text}' is not an upload's id: it has 32 hexadecimal digits");
        Refusal::listed(&BAD_PARAMETER, text)
    })?;
    state.services.attachments.uploads().find(&caller.name, &id)
}

fn offset(headers: &HeaderMap) -> Result<u64, Refusal> {
    let text = headers
        .get(UPLOAD_OFFSET)
        .and_then(|value| value.to_str().ok());
    let text = text.ok_or_else(|| {
        let text = format!("the request needs the header {UPLOAD_OFFSET} with a number");
        Refusal::listed(&BAD_PARAMETER, text)
    })?;
    parsed(UPLOAD_OFFSET, text)
}

fn wrong_offset(upload: &Upload) -> Response {
    let text = format!("the next bytes belong at {}", upload.offset());
    let mut response = Refusal::listed(&WRONG_OFFSET, text).into_response();
    set_offset(&mut response, upload);
    response
}

fn set_offset(response: &mut Response, upload: &Upload) {
    let headers = response.headers_mut();
    headers.insert("upload-offset", HeaderValue::from(upload.offset()));
}
