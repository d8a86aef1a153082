//! Managing users: every change is in the file before it is answered, and in force.

use std::sync::Arc;

use api::codes::{BAD_USER, FORBIDDEN, NODE_STOPPING, UNKNOWN_USER, USER_EXISTS, USERS_FILE};
use api::operations::{self, Operation};
use api::{LoggedIn, NewToken, NewUser, UserChange, UserPage};
use axum::Extension;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::header::CACHE_CONTROL;
use axum::http::{HeaderValue, StatusCode};
use axum::response::IntoResponse;
use primitives::Coded;

use super::handler::{Answered, Route, json, route};
use super::parameters::{ClaimedBody, from_json, query, segment, whole};
use crate::http::connections::ClientAddress;
use crate::http::refusal::Refusal;
use crate::http::state::{ApiState, Subject};
use crate::users::{
    AuditLine, Caller, ChangeIntent, ManageError, Permission, TOKEN_DAYS_MAX, UserRecord, Users,
    UsersError,
};

/// The operations that this module answers.
pub(super) fn routes() -> impl Iterator<Item = Route> {
    [
        route(&operations::USERS, list),
        route(&operations::ADD_USER, add),
        route(&operations::USER, show),
        route(&operations::CHANGE_USER, change),
        route(&operations::REMOVE_USER, remove),
        route(&operations::ADD_TOKEN, add_token),
        route(&operations::REVOKE_TOKENS, revoke_tokens),
    ]
    .into_iter()
}

/// Delay in milliseconds that a `busy` answer suggests when too many passwords are hashed.
const RETRY_MS: u64 = 1_000;

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct Page {
    after: Option<String>,
    limit: Option<usize>,
}

/// `GET /v1/users`
pub(in crate::http) async fn list(
    State(state): State<Arc<ApiState>>,
    parameters: Result<Query<Page>, QueryRejection>,
) -> Answered {
    let Page { after, limit } = query(parameters)?;
    let limit = state.options.page(limit);
    let mut users = users(&state)?.records().await.map_err(refusal)?;
    users.sort_by(|a, b| a.name.cmp(&b.name));
    users.retain(|user| after.as_ref().is_none_or(|after| user.name > *after));
    let more = users.len() > limit;
    users.truncate(limit);
    let next = users.last().filter(|_| more).map(|user| user.name.clone());
    let users = users.iter().map(UserRecord::view).collect();
    json(StatusCode::OK, &UserPage { users, next })
}

/// `POST /v1/users`
pub(in crate::http) async fn add(
    State(state): State<Arc<ApiState>>,
    Extension(caller): Extension<Caller>,
    Extension(address): Extension<ClientAddress>,
    body: ClaimedBody,
) -> Answered {
    let new: NewUser = {
        let (body, _place) = whole(body, &state.options).await?;
        from_json(&body)?
    };
    let subject = Subject(new.name.clone());
    let mut response = added(&state, (&caller, address), new).await.into_response();
    response.extensions_mut().insert(subject);
    Ok(response)
}

async fn added(
    state: &ApiState,
    (caller, address): (&Caller, ClientAddress),
    new: NewUser,
) -> Answered {
    let permissions = granted(caller, new.permissions)?;
    if state.options.tokens.are_of(&new.name) {
        return Err(refusal(ManageError::Exists));
    }
    let users = users(state)?;
    let password = match new.password {
        Some(password) => Some(users.hash(password).await.map_err(refusal)?),
        None => None,
    };
    let user = UserRecord {
        name: new.name,
        password,
        permissions,
        enabled: true,
        starts_per_s: new.starts_per_s,
        start_bytes_max: new.start_bytes_max,
        tokens: Vec::new(),
    };
    let shown = user.view();
    let intent = intent(state, (caller, address), &operations::ADD_USER, &user.name);
    users.add(intent, user).await.map_err(refusal)?;
    json(StatusCode::CREATED, &shown)
}

/// `GET /v1/users/{user}`
pub(in crate::http) async fn show(
    State(state): State<Arc<ApiState>>,
    name: Result<Path<String>, PathRejection>,
) -> Answered {
    let name = segment(name)?;
    let users = users(&state)?.records().await.map_err(refusal)?;
    let user = users.iter().find(|user| user.name == name);
    let user = user.ok_or_else(|| refusal(ManageError::Unknown))?;
    json(StatusCode::OK, &user.view())
}

/// `PATCH /v1/users/{user}`
pub(in crate::http) async fn change(
    State(state): State<Arc<ApiState>>,
    Extension(caller): Extension<Caller>,
    Extension(address): Extension<ClientAddress>,
    name: Result<Path<String>, PathRejection>,
    body: ClaimedBody,
) -> Answered {
    let name = segment(name)?;
    let mut asked: UserChange = {
        let (body, _place) = whole(body, &state.options).await?;
        from_json(&body)?
    };
    let permissions = match asked.permissions.take() {
        Some(permissions) => Some(granted(&caller, permissions)?),
        None => None,
    };
    let users = users(&state)?;
    let password = match asked.password.take() {
        Some(password) => Some(users.hash(password).await.map_err(refusal)?),
        None => None,
    };
    let intent = intent(&state, (&caller, address), &operations::CHANGE_USER, &name);
    let changed = users
        .change((&caller, intent), name, move |user| {
            // A field that is left out stays as it is.
            user.enabled = asked.enabled.unwrap_or(user.enabled);
            user.bound(&asked);
            if let Some(permissions) = permissions {
                user.permissions = permissions;
            }
            if password.is_some() {
                user.password = password;
            }
        })
        .await;
    json(StatusCode::OK, &changed.map_err(refusal)?.view())
}

/// `DELETE /v1/users/{user}`
pub(in crate::http) async fn remove(
    State(state): State<Arc<ApiState>>,
    Extension(caller): Extension<Caller>,
    Extension(address): Extension<ClientAddress>,
    name: Result<Path<String>, PathRejection>,
) -> Answered {
    let name = segment(name)?;
    let intent = intent(&state, (&caller, address), &operations::REMOVE_USER, &name);
    let removed = users(&state)?.remove((&caller, intent), name).await;
    removed.map_err(refusal)?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// `POST /v1/users/{user}/tokens`
pub(in crate::http) async fn add_token(
    State(state): State<Arc<ApiState>>,
    Extension(caller): Extension<Caller>,
    Extension(address): Extension<ClientAddress>,
    name: Result<Path<String>, PathRejection>,
    body: ClaimedBody,
) -> Answered {
    let name = segment(name)?;
    let NewToken { days } = {
        let (body, _place) = whole(body, &state.options).await?;
        from_json(&body)?
    };
    if !(1..=TOKEN_DAYS_MAX).contains(&days) {
        let text = format!("a token is good for 1 to {TOKEN_DAYS_MAX} days, not {days}");
        return Err(Refusal::listed(&BAD_USER, text));
    }
    let intent = intent(&state, (&caller, address), &operations::ADD_TOKEN, &name);
    let given = users(&state)?.add_token((&caller, intent), name, days);
    let given = given.await;
    let (token, expires_s) = given.map_err(refusal)?;
    let expires_ms = 1_000 * expires_s;
    let mut response = json(StatusCode::CREATED, &LoggedIn { token, expires_ms })?;
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

/// `DELETE /v1/users/{user}/tokens`
pub(in crate::http) async fn revoke_tokens(
    State(state): State<Arc<ApiState>>,
    Extension(caller): Extension<Caller>,
    Extension(address): Extension<ClientAddress>,
    name: Result<Path<String>, PathRejection>,
) -> Answered {
    let users = users(&state)?;
    let name = segment(name)?;
    let intent = intent(
        &state,
        (&caller, address),
        &operations::REVOKE_TOKENS,
        &name,
    );
    let changed = users
        .change((&caller, intent), name.clone(), |user| user.tokens.clear())
        .await;
    let changed = changed.map_err(refusal)?;
    users.end_logins(&name);
    json(StatusCode::OK, &changed.view())
}

/// Returns the intent to change a user, whose line has the action of the line about the answer.
fn intent(
    state: &ApiState,
    (caller, address): (&Caller, ClientAddress),
    operation: &Operation,
    user: &str,
) -> ChangeIntent {
    let path = match operation.segments {
        [] => operation.path.to_owned(),
        _ => operation.at(&[user]),
    };
    let action = format!("{} {path}", operation.method.as_str());
    let line = AuditLine::new(Arc::clone(&caller.name), address.0, &action);
    ChangeIntent::new(state.options.audit.as_ref(), line.of(user))
}

/// Returns the permissions to grant. The caller must hold each of them.
fn granted(caller: &Caller, texts: Vec<String>) -> Result<Vec<Permission>, Refusal> {
    let mut permissions = Vec::with_capacity(texts.len());
    for text in texts {
        let permission: Permission = text
            .parse()
            .map_err(|error| Refusal::listed(&BAD_USER, format!("{error}")))?;
        if !caller.permissions.cover(&permission) {
            return Err(refusal(ManageError::Beyond(permission.to_string())));
        }
        permissions.push(permission);
    }
    permissions.sort();
    permissions.dedup();
    Ok(permissions)
}

fn users(state: &ApiState) -> Result<&Arc<Users>, Refusal> {
    let none = || Refusal::listed(&USERS_FILE, "the node keeps no users");
    state.options.users.as_ref().ok_or_else(none)
}

fn refusal(error: ManageError) -> Refusal {
    match error {
        ManageError::Unknown => Refusal::listed(&UNKNOWN_USER, "there is no such user"),
        ManageError::Exists => Refusal::listed(&USER_EXISTS, "there is a user of this name"),
        ManageError::Password => Refusal::listed(&BAD_USER, "a password has 1 to 1024 bytes"),
        ManageError::Beyond(permission) => Refusal::listed(
            &FORBIDDEN,
            format!(
                "the user lacks the permission {permission}, so may neither grant it nor change a user with it"
            ),
        ),
        ManageError::Busy => Refusal::busy(RETRY_MS),
        ManageError::Stopping => Refusal::listed(&NODE_STOPPING, "the node stops"),
        ManageError::File(error @ UsersError::Missing { .. }) => {
            tracing::error!(code = error.code(), %error, "users can't be managed");
            let text = format!("users.toml is missing ({}): {}", error.code(), error.hint());
            Refusal::listed(&USERS_FILE, text)
        }
        ManageError::File(UsersError::Invalid { message, .. }) => {
            Refusal::listed(&BAD_USER, message)
        }
        ManageError::File(error) => {
            tracing::error!(code = error.code(), %error, "users can't be managed");
            Refusal::listed(
                &USERS_FILE,
                "the file of users can't be read or written; the node's log says why",
            )
        }
    }
}
