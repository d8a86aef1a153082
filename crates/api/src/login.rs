//! Logging in with a password.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::SecretText;

/// A user's name and password.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Login {
    /// The user's name.
    pub user: String,
    /// The user's password.
    pub password: SecretText,
    /// The lifetime of the token, in seconds; an hour if left out, a day at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_s: Option<u64>,
}

/// A token for the `Authorization` header.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct LoggedIn {
    /// The token; the node keeps its hash only.
    pub token: SecretText,
    /// The end of its lifetime, in milliseconds since the Unix epoch.
    pub expires_ms: u64,
}
