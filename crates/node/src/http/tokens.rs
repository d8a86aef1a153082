//! Bearer tokens, known by their hashes only.

use std::sync::Arc;

use api::codes::UNAUTHORISED;
use axum::http::{HeaderMap, header::AUTHORIZATION};
use primitives::Hash;

use super::refusal::Refusal;
use crate::users::{Caller, Permissions, StartQuota, Users};

/// The hash of a token, and its user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiToken {
    /// The user of the token. Each user has client ids of their own.
    pub user: Arc<str>,
    /// SHA-256 of the token's bytes.
    pub sha256: [u8; 32],
}

impl ApiToken {
    /// The entry of a token.
    pub fn new(user: &str, token: &str) -> Self {
        Self {
            user: user.into(),
            sha256: *Hash::plain(token.as_bytes()).as_bytes(),
        }
    }
}

/// The tokens of the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tokens(Vec<ApiToken>);

impl Tokens {
    /// Returns these tokens.
    pub fn new(tokens: Vec<ApiToken>) -> Self {
        Self(tokens)
    }

    /// Returns the caller whose token a request carries. A token of the configuration may do everything, any other belongs to one
    /// of `users`.
    pub(crate) fn caller(
        &self,
        headers: &HeaderMap,
        users: Option<&Users>,
    ) -> Result<Caller, Refusal> {
        let hash = token_hash(headers)?;
        let administrator = self.user(&hash).map(|name| Caller {
            name,
            permissions: Arc::new(Permissions::all()),
            quota: StartQuota::default(),
        });
        administrator
            .or_else(|| users.and_then(|users| users.caller(hash.as_bytes())))
            .ok_or_else(|| {
                Refusal::listed(&UNAUTHORISED, "the node does not know the bearer token")
            })
    }

    /// Returns whether one of these tokens belongs to a user of this name. Its flows and client ids then belong to no other user.
    pub(super) fn are_of(&self, name: &str) -> bool {
        self.0.iter().any(|token| *token.user == *name)
    }

    fn user(&self, hash: &Hash) -> Option<Arc<str>> {
        let mut found = None;
        for known in &self.0 {
            // All are looked at, each in constant time: the time taken says nothing.
            if equal(hash.as_bytes(), &known.sha256) {
                found = Some(Arc::clone(&known.user));
            }
        }
        found
    }
}

/// The SHA-256 of the token that a request carries.
pub(super) fn token_hash(headers: &HeaderMap) -> Result<Hash, Refusal> {
    let value = headers.get(AUTHORIZATION).map(|value| value.as_bytes());
    value
        .and_then(bearer)
        .map(Hash::plain)
        .ok_or_else(|| Refusal::listed(&UNAUTHORISED, "the request carries no bearer token"))
}

/// The token in `Bearer TOKEN`; the scheme's case does not matter (RFC 9110 11.1).
fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = value.split_at_checked(7)?;
    let token = token.trim_ascii();
    (scheme.eq_ignore_ascii_case(b"bearer ") && !token.is_empty()).then_some(token)
}

/// Compares without stopping at the first difference.
fn equal(a: &[u8; 32], b: &[u8; 32]) -> bool {
    let difference = a.iter().zip(b).fold(0, |sum, (x, y)| sum | (x ^ y));
    std::hint::black_box(difference) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn who_may_call() {
        let tokens = Tokens::new(vec![
            ApiToken::new("ann", "secret"),
            ApiToken::new("bob", "other"),
        ]);
        for (header, user) in [
            (Some("Bearer secret"), Some("ann")),
            (Some("bearer  other "), Some("bob")),
            (Some("Bearer wrong"), None),
            (Some("Bearer "), None),
            (Some("Basic secret"), None),
            (Some("secret"), None),
            (Some("Bearer secretx"), None),
            (None, None),
        ] {
            let mut headers = HeaderMap::new();
            if let Some(header) = header {
                headers.insert(AUTHORIZATION, HeaderValue::from_static(header));
            }
            let found = tokens.caller(&headers, None);
            assert_eq!(
                found.as_ref().ok().map(|caller| &*caller.name),
                user,
                "{header:?}"
            );
            assert!(found.is_ok() || found.is_err_and(|refusal| refusal.status() == 401));
        }
        assert!(Tokens::default().caller(&HeaderMap::new(), None).is_err());
    }
}
