//! Permissions: their meaning, their text form, and their check.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Everything that can be allowed; those with `true` may be narrowed, as in `flow.start:cash.*`.
pub const ACTIONS: &[(&str, bool)] = &[
    ("flow.start", true),
    ("flow.read", false),
    ("flow.read.all", false),
    ("flow.cancel", false),
    ("flow.retry", false),
    ("flow.pause", false),
    ("flow.journal", false),
    ("vault.query", true),
    ("vault.balances", true),
    ("tx.read", false),
    ("tx.note", false),
    ("ledger.read", false),
    ("attachments.read", false),
    ("attachments.upload", true),
    ("attachments.manage", false),
    ("network.read", false),
    ("node.read", false),
    ("metrics.read", false),
    ("notary.read", false),
    ("notary.requests", false),
    ("admin.clock", false),
    ("admin.consents", false),
    ("admin.drain", false),
    ("admin.recover", false),
    ("admin.users", false),
];

/// Longest text of a permission, in bytes.
const TEXT_BYTES_MAX: usize = 256;
const ALL: &str = "ALL";

/// One permission in the form of `users.toml`: `ALL`, or an action with an optional subject. Both may end with `*`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Permission {
    action: Pattern,
    about: Option<Pattern>,
}

/// The text is not a permission.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is no permission: {why}")]
pub struct BadPermission {
    /// The text as it was written.
    pub text: String,
    /// The fault.
    pub why: String,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Pattern {
    text: String,
    open: bool,
}

impl Pattern {
    fn new(text: &str) -> Self {
        let (text, open) = match text.strip_suffix('*') {
            Some(text) => (text, true),
            None => (text, false),
        };
        Self {
            text: text.to_owned(),
            open,
        }
    }

    /// Whether everything that the other matches, this one matches as well.
    fn covers(&self, other: &Self) -> bool {
        if self.open {
            other.text.starts_with(&self.text)
        } else {
            !other.open && self.text == other.text
        }
    }

    fn matches(&self, text: &str) -> bool {
        if self.open {
            text.starts_with(&self.text)
        } else {
            text == self.text
        }
    }
}

impl Permission {
    /// Everything.
    pub fn all() -> Self {
        Self {
            action: Pattern::new("*"),
            about: None,
        }
    }

    /// Whether everything that the other allows, this one allows as well.
    fn covers(&self, other: &Self) -> bool {
        self.action.covers(&other.action)
            && match (&self.about, &other.about) {
                (None, _) => true,
                (Some(own), Some(about)) => own.covers(about),
                (Some(own), None) => own.open && own.text.is_empty(),
            }
    }

    fn allows(&self, action: &str, about: Option<&str>) -> bool {
        self.action.matches(action)
            && match (&self.about, about) {
                (None, _) => true,
                (Some(pattern), Some(about)) => pattern.matches(about),
                (Some(pattern), None) => pattern.open && pattern.text.is_empty(),
            }
    }
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let star = |pattern: &Pattern| if pattern.open { "*" } else { "" };
        if *self == Self::all() {
            return f.write_str(ALL);
        }
        write!(f, "{}{}", self.action.text, star(&self.action))?;
        match &self.about {
            Some(about) => write!(f, ":{}{}", about.text, star(about)),
            None => Ok(()),
        }
    }
}

impl FromStr for Permission {
    type Err = BadPermission;

    fn from_str(text: &str) -> Result<Self, BadPermission> {
        let bad = |why: &str| BadPermission {
            text: text.chars().take(TEXT_BYTES_MAX).collect(),
            why: why.to_owned(),
        };
        if text == ALL {
            return Ok(Self::all());
        }
        if text.len() > TEXT_BYTES_MAX {
            return Err(bad("it is longer than 256 bytes"));
        }
        let (action, about) = match text.split_once(':') {
            Some((action, about)) => (action, Some(about)),
            None => (text, None),
        };
        let plain = |part: &str, marks: &[u8]| {
            // A star may end a part.
            let part = part.strip_suffix('*').unwrap_or(part);
            part.bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || marks.contains(&byte))
        };
        // The subject of an upload is a media type.
        let about_is_plain = about.is_none_or(|about| !about.is_empty() && plain(about, b"._-/+"));
        if !plain(action, b"._-") || !about_is_plain {
            return Err(bad(
                "parts hold letters, digits, '.', '_' and '-', media types '/' and '+' as well, and a '*' at the end at most",
            ));
        }
        let action = Pattern::new(action);
        if action.text.is_empty() {
            return Err(bad("everything is written ALL"));
        }
        let mut known = ACTIONS.iter().filter(|(name, _)| action.matches(name));
        match known.next() {
            None => {
                let nearest = ACTIONS
                    .iter()
                    .min_by_key(|(name, _)| strsim::damerau_levenshtein(name, &action.text));
                let nearest = nearest.map_or("", |(name, _)| name);
                Err(bad(&format!(
                    "there is no such action; the nearest is '{nearest}'"
                )))
            }
            Some((_, false)) if about.is_some() => Err(bad(
                "only flow.start, vault.query, vault.balances and attachments.upload may be narrowed",
            )),
            Some(_) => Ok(Self {
                action,
                about: about.map(Pattern::new),
            }),
        }
    }
}

impl TryFrom<String> for Permission {
    type Error = BadPermission;

    fn try_from(text: String) -> Result<Self, BadPermission> {
        text.parse()
    }
}

impl From<Permission> for String {
    fn from(permission: Permission) -> Self {
        permission.to_string()
    }
}

/// All permissions of a user; none allow nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permissions(Vec<Permission>);

impl Permissions {
    /// These.
    pub fn new(permissions: Vec<Permission>) -> Self {
        Self(permissions)
    }

    /// Everything.
    pub fn all() -> Self {
        Self(vec![Permission::all()])
    }

    /// Whether an action is allowed on everything (`about` none), or on one thing.
    pub fn allow(&self, action: &str, about: Option<&str>) -> bool {
        self.0
            .iter()
            .any(|permission| permission.allows(action, about))
    }

    /// Returns whether one of these covers the permission. A user may grant only covered permissions.
    pub fn cover(&self, permission: &Permission) -> bool {
        self.0.iter().any(|held| held.covers(permission))
    }

    /// Whether an action is allowed on anything at all.
    pub fn allow_some(&self, action: &str) -> bool {
        self.0
            .iter()
            .any(|permission| permission.action.matches(action))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_permissions_allow() {
        // permissions, action, about -> allowed
        for (held, action, about, allowed) in [
            ("", "flow.read", None, false),
            ("ALL", "admin.drain", None, true),
            ("ALL", "flow.start", Some("x"), true),
            ("flow.start:cash.*", "flow.start", Some("cash.pay"), true),
            ("flow.start:cash.*", "flow.start", Some("cashier"), false),
            ("flow.start:cash.*", "flow.start", None, false),
            ("flow.start:cash.pay", "flow.start", Some("cash.pay"), true),
            (
                "flow.start:cash.pay",
                "flow.start",
                Some("cash.pay2"),
                false,
            ),
            ("flow.start", "flow.start", Some("iou.issue"), true),
            ("flow.start:*", "flow.start", Some("iou.issue"), true),
            (
                "attachments.upload:image/*",
                "attachments.upload",
                Some("image/svg+xml"),
                true,
            ),
            (
                "attachments.upload:image/*",
                "attachments.upload",
                Some("text/html"),
                false,
            ),
            ("flow.*", "flow.cancel", None, true),
            ("flow.*", "tx.read", None, false),
            ("flow.read", "flow.read.all", None, false),
            ("flow.read.all", "flow.read", None, false),
            ("vault.query:tally.cash", "vault.query", None, false),
            (
                "tx.read vault.query:tally.*",
                "vault.query",
                Some("tally.cash"),
                true,
            ),
        ] {
            let held: Vec<Permission> = held
                .split_whitespace()
                .map(|text| text.parse().expect(text))
                .collect();
            let permissions = Permissions::new(held.clone());
            assert_eq!(
                permissions.allow(action, about),
                allowed,
                "{held:?} {action} {about:?}"
            );
            for permission in held {
                assert_eq!(permission.to_string().parse(), Ok(permission));
            }
        }
        let narrow = Permissions::new(vec!["vault.query:tally.cash".parse().expect("good")]);
        assert!(narrow.allow_some("vault.query") && !narrow.allow_some("flow.start"));
    }

    #[test]
    fn a_permission_covers_what_it_allows_and_no_more() {
        for (held, other, covered) in [
            ("ALL", "ALL", true),
            ("ALL", "flow.start:cash.*", true),
            ("flow.*", "flow.start:cash.pay", true),
            ("flow.*", "ALL", false),
            ("flow.start", "flow.start:x", true),
            ("flow.start:*", "flow.start", true),
            ("flow.start:cash.*", "flow.start:cash.pay", true),
            ("flow.start:cash.*", "flow.start:c*", false),
            ("flow.start:cash.*", "flow.start", false),
            ("flow.start:cash.pay", "flow.start:cash.*", false),
            ("flow.read", "flow.read.all", false),
            ("admin.users", "admin.drain", false),
        ] {
            let permission = |text: &str| text.parse::<Permission>().expect("good");
            let held = Permissions::new(vec![permission(held)]);
            assert_eq!(held.cover(&permission(other)), covered, "{held:?} {other}");
        }
    }

    #[test]
    fn what_is_no_permission_says_why() {
        for (text, why) in [
            ("", "ALL"),
            ("*", "ALL"),
            ("all", "no such action"),
            ("flow.strat", "nearest is 'flow.start'"),
            ("flow.*.x", "at the end"),
            ("flow.start:", "parts hold"),
            ("flow.start:a:b", "parts hold"),
            ("flow.read:x", "only flow.start, vault.query"),
            ("flow.start:c\u{e4}sh", "parts hold"),
        ] {
            let error = text.parse::<Permission>().expect_err(text).to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
