//! A line of the audit log.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;

/// Longest name of a subject, in characters.
const SUBJECT_CHARS_MAX: usize = 128;

/// The kind of a line. It decides whether the line is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// The start of a flow.
    Start,
    /// A login.
    Login,
    /// A change of users, or a line about the log itself.
    Users,
    /// Any other request.
    Other,
}

impl Kind {
    /// The kind of a line with this action.
    pub(super) fn of(action: &str, has_subject: bool) -> Self {
        match action {
            "flow.start" => Self::Start,
            "login" => Self::Login,
            "audit.lost" | "audit.continues" => Self::Other,
            _ if has_subject || action.starts_with("user.") || action.starts_with("audit.") => {
                Self::Users
            }
            _ => Self::Other,
        }
    }

    /// Whether lines of this kind outlast the files of the log, and have a place of their own in its queue.
    pub(super) fn is_kept(self) -> bool {
        matches!(self, Self::Login | Self::Users)
    }
}

/// A line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AuditLine {
    /// Milliseconds since the Unix epoch.
    pub time_ms: u64,
    /// The user; empty without a valid credential.
    #[serde(serialize_with = "as_text", skip_serializing_if = "is_empty")]
    pub user: Arc<str>,
    /// The remote address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<IpAddr>,
    /// The action: `flow.start`, `login`, or a method and a path.
    pub action: String,
    /// The flow's registered name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow: Option<String>,
    /// The flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow_id: Option<String>,
    /// The start's client id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// The user that it changes, or the name of a refused login.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The subject, if the path does not name it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// `accepted`, `refused` (by the answer, for any reason), or `unknown` if the client did not wait for the answer. Before a
    /// change of users there is another line, `begun`.
    pub outcome: &'static str,
    /// The reason of the refusal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The number of equal events that the line stands for, if more than one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
}

fn as_text<S: serde::Serializer>(user: &Arc<str>, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(user)
}

fn is_empty(user: &Arc<str>) -> bool {
    user.is_empty()
}

impl AuditLine {
    /// A line of now, accepted.
    pub fn new(user: Arc<str>, address: Option<IpAddr>, action: &str) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            time_ms: since.map_or(0, |d| u64::try_from(d.as_millis()).unwrap_or(u64::MAX)),
            user,
            address,
            action: action.to_owned(),
            flow: None,
            flow_id: None,
            client_id: None,
            subject: None,
            about: None,
            outcome: "accepted",
            code: None,
            count: None,
        }
    }

    /// A line of now about a client without a credential.
    pub fn anonymous(address: Option<IpAddr>, action: &str) -> Self {
        Self::new("".into(), address, action)
    }

    /// Returns the line as a summary of this number of equal events.
    pub fn counted(mut self, count: u64) -> Self {
        self.count = Some(count);
        self
    }

    /// The same, about a user; a name longer than any user's is cut.
    pub fn of(mut self, subject: &str) -> Self {
        self.subject = Some(subject.chars().take(SUBJECT_CHARS_MAX).collect());
        self
    }

    /// The same, refused.
    pub fn refused(mut self, code: &str) -> Self {
        self.outcome = "refused";
        self.code = Some(code.to_owned());
        self
    }

    /// The same, about a change that is about to be made.
    pub fn begun(mut self) -> Self {
        self.outcome = "begun";
        self
    }

    pub(super) fn is_refused(&self) -> bool {
        self.outcome == "refused"
    }

    pub(super) fn kind(&self) -> Kind {
        Kind::of(&self.action, self.subject.is_some())
    }
}
