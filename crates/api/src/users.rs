//! Users of a node, managed over the API by users with the permission `admin.users`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::SecretText;

/// A user, without secrets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UserView {
    /// The user's name.
    pub name: String,
    /// Whether the user is enabled; a disabled user may do nothing.
    pub enabled: bool,
    /// Whether the user has a password; without one the user has tokens only.
    pub password: bool,
    /// The user's permissions.
    pub permissions: Vec<String>,
    /// Maximum number of flows that the user may start in a second; 0 means unlimited. If absent, the node's settings
    /// apply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts_per_s: Option<u32>,
    /// Maximum size of a start of a flow, in bytes; 0 means unlimited. If absent, the node's settings apply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_bytes_max: Option<u32>,
    /// The time at which each long-lived token ends, in milliseconds since the Unix epoch.
    pub tokens_expire_ms: Vec<u64>,
}

/// A page of users, by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UserPage {
    /// The users.
    pub users: Vec<UserView>,
    /// The `after` of the next page; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A new user.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewUser {
    /// 1 to 64 letters, digits and any of `.`, `_`, `-`, `@`.
    pub name: String,
    /// At most 1,024 bytes; without one the user has tokens only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<SecretText>,
    /// The user's permissions: `flow.start:cash.*`, `vault.query`, ... An empty list permits nothing.
    #[serde(default)]
    pub permissions: Vec<String>,
    /// Maximum number of flows that the user may start in a second; 0 means unlimited. If absent, the node's settings
    /// apply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts_per_s: Option<u32>,
    /// Maximum size of a start of a flow, in bytes; 0 means unlimited. If absent, the node's settings apply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_bytes_max: Option<u32>,
}

/// Changes to a user. Absent fields stay as they are.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UserChange {
    /// Whether the user is enabled; a disabled user may do nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// A new password, at most 1,024 bytes. It ends the user's logins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<SecretText>,
    /// The complete list of permissions from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions: Option<Vec<String>>,
    /// `true` resets the limits on the user's starts to the node's settings, except for the limits given below.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reset_bounds: Option<bool>,
    /// Maximum number of flows that the user may start in a second from now on; 0 means unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts_per_s: Option<u32>,
    /// Maximum size of a start of a flow from now on, in bytes; 0 means unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_bytes_max: Option<u32>,
}

/// A new long-lived token.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    /// The lifetime, in days: 1 to 3,650.
    #[schemars(range(min = 1, max = 3650))]
    pub days: u32,
}
