//! Bearer tokens, known by their hashes only.

use std::sync::Arc;

use api::codes::UNAUTHORISED;
use axum::http::{HeaderMap, header::AUTHORIZATION};
use primitives::Hash;

use super::refusal::Refusal;

/// A token's hash and whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiToken {
    /// Whose it is; client ids are this user's own.
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

/// Everybody who may call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tokens(Vec<ApiToken>);

impl Tokens {
    /// These and nobody else.
    pub fn new(tokens: Vec<ApiToken>) -> Self {
        Self(tokens)
    }

    /// The user whose token a request carries.
    pub(super) fn user(&self, headers: &HeaderMap) -> Result<Arc<str>, Refusal> {
        let value = headers.get(AUTHORIZATION).map(|value| value.as_bytes());
        let Some(token) = value.and_then(bearer) else {
            return Err(Refusal::listed(
                &UNAUTHORISED,
                "the request carries no bearer token",
            ));
        };
        let hash = Hash::plain(token);
        let mut found = None;
        for known in &self.0 {
            // All are looked at, each in constant time: the time taken says nothing.
            if equal(hash.as_bytes(), &known.sha256) {
                found = Some(Arc::clone(&known.user));
            }
        }
        found.ok_or_else(|| {
            Refusal::listed(&UNAUTHORISED, "the node does not know the bearer token")
        })
    }
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
            let found = tokens.user(&headers);
            assert_eq!(found.as_deref().ok(), user, "{header:?}");
            assert!(found.is_ok() || found.is_err_and(|refusal| refusal.status() == 401));
        }
        assert!(Tokens::default().user(&HeaderMap::new()).is_err());
    }
}
