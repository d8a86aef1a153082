//! Users of a node, managed over the API by whoever has the permission `admin.users`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A user, without secrets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UserView {
    /// The user's name.
    pub name: String,
    /// Whether the user may do anything at all.
    pub enabled: bool,
    /// Whether the user has a password; without one there are tokens only.
    pub password: bool,
    /// What the user may do.
    pub permissions: Vec<String>,
    /// Flows that the user may start in a second; 0 is no bound, and without it the node's settings say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts_per_s: Option<u32>,
    /// The largest start of a flow, in bytes; 0 is no bound, and without it the node's settings say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_bytes_max: Option<u32>,
    /// When each long-lived token ends, in milliseconds since the Unix epoch.
    pub tokens_expire_ms: Vec<u64>,
}

/// A page of users, by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UserPage {
    /// The users.
    pub users: Vec<UserView>,
    /// `after` of the next page; absent on the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A user to be.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewUser {
    /// 1 to 64 letters, digits and any of `.`, `_`, `-`, `@`.
    pub name: String,
    /// At most 1,024 bytes; without one the user has tokens only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
    /// What the user may do: `flow.start:cash.*`, `vault.query`, ... None means nothing.
    #[serde(default)]
    pub permissions: Vec<String>,
    /// Flows that the user may start in a second; 0 is no bound, and without it the node's settings say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts_per_s: Option<u32>,
    /// The largest start of a flow, in bytes; 0 is no bound, and without it the node's settings say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_bytes_max: Option<u32>,
}

/// What to change of a user; what is absent stays.
#[derive(Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UserChange {
    /// Whether the user may do anything at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// A new password, at most 1,024 bytes; logins end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
    /// All that the user may do from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions: Option<Vec<String>>,
    /// `true`: what bounds the user's starts is what the node's settings say again, but for what is said below.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reset_bounds: Option<bool>,
    /// Flows that the user may start in a second from now on; 0 is no bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts_per_s: Option<u32>,
    /// The largest start of a flow from now on, in bytes; 0 is no bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_bytes_max: Option<u32>,
}

/// A long-lived token to be.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    /// How long it is good, in days: 1 to 3,650.
    #[schemars(range(min = 1, max = 3650))]
    pub days: u32,
}
