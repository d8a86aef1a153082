//! Files: upload in one piece, look, read, trust, remove.

use std::sync::Arc;

use api::attachments::{ATTACHMENT_PAGE_MAX, bad_hint};
use api::codes::{BAD_ATTACHMENT, INTERNAL, files as file_codes};
use api::operations;
use api::{AttachmentChange, AttachmentQuery};
use axum::Extension;
use axum::body::{Body, HttpBody};
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::header::{
    ACCEPT_RANGES, CONTENT_DISPOSITION, CONTENT_RANGE, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use primitives::Hash;
use serde::Deserialize;

use super::handler::{Answered, Route, json, route};
use super::parameters::{ClaimedBody, from_json, parsed, query, segment, whole};
use super::receive::receive;
use crate::http::cut::Cut;
use crate::http::download_watch::DownloadWatch;
use crate::http::file_body::FileBody;
use crate::http::place::{self, OwnPlaces};
use crate::http::range::{asked, content_range};
use crate::http::refusal::Refusal;
use crate::http::state::ApiState;
use crate::http::unread::discard;
use crate::uploads::{Incoming, Place, Promise};
use crate::users::Caller;

/// The operations that this module answers.
pub(super) fn routes() -> impl Iterator<Item = Route> {
    [
        route(&operations::UPLOAD, upload),
        route(&operations::ATTACHMENTS, list),
        route(&operations::ATTACHMENT, show),
        route(&operations::TRUST_ATTACHMENT, change),
        route(&operations::REMOVE_ATTACHMENT, remove),
        route(&operations::ATTACHMENT_CONTENT, content),
    ]
    .into_iter()
}

/// `?name=&media_type=&sha256=`
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct UploadQuery {
    name: Option<String>,
    media_type: Option<String>,
    sha256: Option<String>,
}

/// The query of the list of attachments: filters and the page.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct AttachmentsQuery {
    after: Option<String>,
    limit: Option<u32>,
    name: Option<String>,
    media_type: Option<String>,
    trusted: Option<bool>,
    unreferenced: Option<bool>,
}

/// Returns the promise of an upload. An invalid hash or hint is refused.
pub(super) fn promise(
    size: Option<u64>,
    sha256: Option<&str>,
    name: Option<String>,
    media_type: Option<String>,
) -> Result<Promise, Refusal> {
    if let Some(why) = bad_hint(name.as_deref(), media_type.as_deref()) {
        return Err(Refusal::listed(&BAD_ATTACHMENT, why));
    }
    let hash = sha256.map(|text| {
        let wrong = || Refusal::listed(&BAD_ATTACHMENT, "sha256 is 64 hexadecimal digits");
        text.parse::<Hash>().map_err(|_| wrong())
    });
    Ok(Promise {
        size,
        hash: hash.transpose()?,
        name,
        media_type,
    })
}

/// `POST /v1/attachments`
pub(in crate::http) async fn upload(
    State(state): State<Arc<ApiState>>,
    Extension(caller): Extension<Caller>,
    parameters: Result<Query<UploadQuery>, QueryRejection>,
    body: Body,
) -> Answered {
    // The announced length is a promise like the others.
    let size = body.size_hint().exact();
    let (transfer, promise, mut incoming) = match begin(&state, &caller, parameters, size).await {
        Ok(begun) => begun,
        Err(refusal) => {
            discard(body).await;
            return Err(refusal);
        }
    };
    receive(body, &mut incoming, &transfer, &state.options).await?;
    let (state, user) = (Arc::clone(&state), caller.name);
    // Goes on when the client does not wait for it: a file on the disk gets its row.
    let stored = place::spawn(async move {
        let _transfer = transfer;
        let published = incoming.finish().await?;
        let (name, media_type) = (promise.name, promise.media_type);
        let service = &*state.services.attachments;
        let stored = service.store_attachment(published, name, media_type, &user);
        stored.await
    });
    let (view, is_new) = outcome(stored.await)?;
    json(created(is_new), &view)
}

async fn begin(
    state: &ApiState,
    caller: &Caller,
    parameters: Result<Query<UploadQuery>, QueryRejection>,
    size: Option<u64>,
) -> Result<(Place, Promise, Incoming), Refusal> {
    let wish: UploadQuery = query(parameters)?;
    let promise = promise(size, wish.sha256.as_deref(), wish.name, wish.media_type)?;
    caller.check_upload(promise.media_type.as_deref())?;
    let uploads = state.services.attachments.uploads();
    let place = uploads.place(&caller.name)?;
    let incoming = uploads.single(promise.clone()).await?;
    Ok((place, promise, incoming))
}

/// Returns the result of a task that continues without its client.
pub(super) fn outcome<T>(
    joined: Result<Result<T, Refusal>, tokio::task::JoinError>,
) -> Result<T, Refusal> {
    joined.unwrap_or_else(|_| {
        let text = "the node met a bug, or stops, while it stored a file";
        Err(Refusal::listed(&INTERNAL, text))
    })
}

/// The status of a file that is here now.
pub(super) fn created(is_new: bool) -> StatusCode {
    match is_new {
        true => StatusCode::CREATED,
        false => StatusCode::OK,
    }
}

/// `GET /v1/attachments`
pub(in crate::http) async fn list(
    State(state): State<Arc<ApiState>>,
    parameters: Result<Query<AttachmentsQuery>, QueryRejection>,
) -> Answered {
    let wanted: AttachmentsQuery = query(parameters)?;
    let after = wanted.after.as_deref().map(|text| parsed("hash", text));
    let most = ATTACHMENT_PAGE_MAX as usize;
    let limit = wanted.limit.map_or(most, |limit| limit as usize);
    let filter = AttachmentQuery {
        name: wanted.name,
        media_type: wanted.media_type,
        trusted: wanted.trusted,
        unreferenced: wanted.unreferenced,
    };
    let limit = limit.clamp(1, most.min(state.options.page_max.max(1)));
    let page = state
        .services
        .attachments
        .attachments(filter, after.transpose()?, limit);
    json(StatusCode::OK, &page.await?)
}

/// `GET /v1/attachments/{hash}`
pub(in crate::http) async fn show(
    State(state): State<Arc<ApiState>>,
    hash: Result<Path<String>, PathRejection>,
) -> Answered {
    let view = state.services.attachments.attachment(named(hash)?).await?;
    json(StatusCode::OK, &view)
}

/// `PATCH /v1/attachments/{hash}`
pub(in crate::http) async fn change(
    State(state): State<Arc<ApiState>>,
    Extension(caller): Extension<Caller>,
    hash: Result<Path<String>, PathRejection>,
    body: ClaimedBody,
) -> Answered {
    let hash = named(hash)?;
    let change: AttachmentChange = {
        let (body, _place) = whole(body, &state.options).await?;
        from_json(&body)?
    };
    let service = &*state.services.attachments;
    let view = service.trust_attachment(hash, change.trusted, &caller.name);
    json(StatusCode::OK, &view.await?)
}

/// `DELETE /v1/attachments/{hash}`
pub(in crate::http) async fn remove(
    State(state): State<Arc<ApiState>>,
    hash: Result<Path<String>, PathRejection>,
) -> Answered {
    state
        .services
        .attachments
        .remove_attachment(named(hash)?)
        .await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// `GET /v1/attachments/{hash}/content`
pub(in crate::http) async fn content(
    State(state): State<Arc<ApiState>>,
    Extension(caller): Extension<Caller>,
    hash: Result<Path<String>, PathRejection>,
    cut: Option<Extension<Cut>>,
    headers: HeaderMap,
) -> Answered {
    let hash = named(hash)?;
    let service = &*state.services.attachments;
    let place = service.uploads().place(&caller.name)?;
    let (view, reader) = service.attachment_content(hash).await?;
    let (size, etag) = (reader.size(), format!("\"{hash}\""));
    if size != view.size {
        let text = format!(
            "the file of {hash} has {size} bytes, its row says {}",
            view.size
        );
        return Err(Refusal::listed(&file_codes::DAMAGED, text));
    }
    let span = match asked(&headers, &etag, size) {
        Ok(span) => span,
        Err(refusal) => {
            let mut response = refusal.into_response();
            set(&mut response, CONTENT_RANGE, content_range(None, size));
            return Ok(response);
        }
    };
    let cut = cut.map(|Extension(cut)| cut);
    let taking = DownloadWatch::new(place, state.options.body_timeout, cut);
    // Without a range, the whole file is sent.
    let body = FileBody::new(reader, span.unwrap_or((0, size)), taking);
    let mut response = Response::new(body.into_body());
    response.extensions_mut().insert(OwnPlaces);
    if span.is_some() {
        *response.status_mut() = StatusCode::PARTIAL_CONTENT;
        set(&mut response, CONTENT_RANGE, content_range(span, size));
    }
    let disposition = disposition(&view.name, &view.hash);
    for (name, value) in [
        (ETAG, etag.as_str()),
        (ACCEPT_RANGES, "bytes"),
        // The media type of the upload is ignored, so that the browser of another user does not execute the file.
        (CONTENT_TYPE, "application/octet-stream"),
        (CONTENT_DISPOSITION, disposition.as_str()),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (CONTENT_SECURITY_POLICY, "sandbox; default-src 'none'"),
    ] {
        set(&mut response, name, HeaderValue::from_str(value).ok());
    }
    Ok(response)
}

fn set(response: &mut Response, name: axum::http::HeaderName, value: Option<HeaderValue>) {
    if let Some(value) = value {
        response.headers_mut().insert(name, value);
    }
}

/// Returns the header `Content-Disposition` (RFC 6266). The name is never a path and has no quotes. A file without a name gets
/// its hash.
fn disposition(name: &str, hash: &str) -> String {
    let last = name.rsplit(['/', '\\']).next();
    let last = last.expect("a split has a last part");
    let last: String = last.chars().filter(|c| !c.is_control()).collect();
    let name = match last.trim_matches(['.', ' ']) {
        "" => hash,
        _ => last.as_str(),
    };
    let plain: String = name
        .chars()
        .map(|c| match c {
            ' '..='~' if !matches!(c, '"' | '\\' | '%') => c,
            _ => '_',
        })
        .collect();
    let encoded = operations::encode(name);
    format!("attachment; filename=\"{plain}\"; filename*=UTF-8''{encoded}")
}

fn named(hash: Result<Path<String>, PathRejection>) -> Result<Hash, Refusal> {
    parsed("hash", &segment(hash)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_for_saving_are_no_paths_and_break_no_header() {
        for (name, expected) in [
            (
                "a.pdf",
                "attachment; filename=\"a.pdf\"; filename*=UTF-8''a.pdf",
            ),
            (
                "../../etc/passwd",
                "attachment; filename=\"passwd\"; filename*=UTF-8''passwd",
            ),
            ("c:\\x\\y", "attachment; filename=\"y\"; filename*=UTF-8''y"),
            (
                "a\"b\r\nc",
                "attachment; filename=\"a_bc\"; filename*=UTF-8''a%22bc",
            ),
            ("ü", "attachment; filename=\"_\"; filename*=UTF-8''%C3%BC"),
            ("..", "attachment; filename=\"00ff\"; filename*=UTF-8''00ff"),
            ("", "attachment; filename=\"00ff\"; filename*=UTF-8''00ff"),
        ] {
            assert_eq!(disposition(name, "00ff"), expected);
            assert!(HeaderValue::from_str(&disposition(name, "00ff")).is_ok());
        }
    }
}
