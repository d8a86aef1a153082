//! Logging in and out.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use api::codes::{INTERNAL, LOGIN_FAILED, LOGIN_LIMITED, NOT_A_LOGIN};
use api::operations;
use api::{LoggedIn, Login};
use axum::Extension;
use axum::extract::State;
use axum::http::header::CACHE_CONTROL;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::IntoResponse;
use tokio::time::Instant;

use super::handler::{Answered, Route, json, route};
use super::parameters::from_json;
use crate::http::claim::{ClaimedBody, whole_within};
use crate::http::connections::ClientAddress;
use crate::http::connections::Visitor;
use crate::http::refusal::Refusal;
use crate::http::state::ApiState;
use crate::http::tokens::token_hash;
use crate::users::{AuditLine, LoginError};

/// The operations that this module answers.
pub(super) fn routes() -> impl Iterator<Item = Route> {
    [
        route(&operations::LOGIN, login),
        route(&operations::LOGOUT, logout),
    ]
    .into_iter()
}

/// Delay in milliseconds that a `busy` answer suggests when too many users log in at once.
const RETRY_MS: u64 = 1_000;
/// Bytes of a login's body: a name and a password of the greatest lengths, however they are escaped.
const LOGIN_BYTES_MAX: usize = 16 << 10;
/// A name in the audit log is not longer than this.
const NAME_CHARS_MAX: usize = 64;

/// `POST /v1/login`
pub(in crate::http) async fn login(
    State(state): State<Arc<ApiState>>,
    Extension(address): Extension<ClientAddress>,
    Extension(visitor): Extension<Arc<Visitor>>,
    headers: HeaderMap,
    body: ClaimedBody,
) -> Answered {
    let deadline = Instant::now() + state.options.head_timeout.min(state.options.body_timeout);
    let (body, place) = whole_within(body, LOGIN_BYTES_MAX, deadline).await?;
    let login: Login = from_json(&body)?;
    drop((body, place));
    let name: String = login.user.chars().take(NAME_CHARS_MAX).collect();
    let given = match &state.options.users {
        Some(users) => {
            // Clients without a known address count as one.
            let from = address.0.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
            let shown = token_hash(&headers).ok().map(|hash| *hash.as_bytes());
            let given = users.login(&name, login.password, login.ttl_s, from, shown);
            given.await.map_err(refusal)
        }
        None => Err(refusal(LoginError::Wrong)),
    };
    if let Some(audit) = &state.options.audit {
        audit.write(match &given {
            Ok(_) => AuditLine::new(name.into(), address.0, "login"),
            // The name is the client's word, so it is no actor.
            Err(refusal) => {
                let line = AuditLine::anonymous(address.0, "login");
                line.of(&name).refused(&refusal.code)
            }
        });
    }
    let (token, expires_s) = given?;
    visitor.earn();
    let expires_ms = 1_000 * expires_s;
    let mut response = json(StatusCode::OK, &LoggedIn { token, expires_ms })?;
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

/// `POST /v1/logout`
pub(in crate::http) async fn logout(
    State(state): State<Arc<ApiState>>,
    headers: HeaderMap,
) -> Answered {
    let hash = token_hash(&headers)?;
    let users = state.options.users.as_ref();
    if users.is_some_and(|users| users.logout(hash.as_bytes())) {
        Ok(StatusCode::NO_CONTENT.into_response())
    } else {
        let text = "the token comes from the node's folder, not from a login";
        Err(Refusal::listed(&NOT_A_LOGIN, text))
    }
}

fn refusal(error: LoginError) -> Refusal {
    match error {
        LoginError::Wrong => Refusal::listed(&LOGIN_FAILED, "no such user, or a wrong password"),
        LoginError::Limited(wait) => Refusal {
            retry_after_ms: Some(primitives::whole_ms(wait).max(1)),
            ..Refusal::listed(&LOGIN_LIMITED, "too many logins failed")
        },
        LoginError::Busy => Refusal::busy(RETRY_MS),
        LoginError::NoRandomness => Refusal::listed(&INTERNAL, "the system gives no random bytes"),
    }
}
