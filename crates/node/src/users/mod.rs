//! Access: users in the node's folder, their passwords, tokens and permissions, and the audit log.
//!
//! Knows nothing of HTTP: it answers "whose token is this" and "may this user do that". The file `users.toml` is written by
//! the command line and read again by a running node when it changes.
//!
//! Modules in reading order: `permission`, `password`, `quota`, `file`, `options`, `sessions`, `network`, `attempts`, `directory`
//! (which joins them), `manage`, `audit`.

mod attempts;
mod audit;
mod clock;
mod directory;
mod error;
mod file;
mod manage;
mod network;
mod options;
mod password;
mod permission;
mod quota;
mod sessions;

pub use audit::{AuditFile, AuditLine, AuditLog, AuditNote, ChangeIntent};
pub use clock::now_s;
pub use directory::{Caller, LoginError, Users};
pub use error::{AUDIT_LOST, ERRORS, UsersError};
pub use file::{
    FILE, Sha256Text, TOKENS_PER_USER_MAX, TokenRecord, USERS_MAX, UserRecord, UsersFile,
    name_fault,
};
pub use manage::{ManageError, TOKEN_DAYS_MAX};
pub(crate) use network::network_of;
pub use options::UserLimits;
pub use password::{PASSWORD_BYTES_MAX, PasswordHash};
pub use permission::{ACTIONS, BadPermission, Permission, Permissions};
pub use quota::{StartQuota, StartRates};
