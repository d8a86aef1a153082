//! Attachments: files that transactions refer to by the SHA-256 of their bytes; and uploads, by which they come.
//!
//! The bytes themselves are no JSON: they are the body of a request or of an answer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The longest name of an attachment, in bytes.
pub const ATTACHMENT_NAME_BYTES_MAX: usize = 255;
/// The longest media type, in bytes.
pub const MEDIA_TYPE_BYTES_MAX: usize = 127;
/// Most attachments on one page.
pub const ATTACHMENT_PAGE_MAX: u32 = 1_000;
/// The header that says where the bytes of a request belong, and in an answer how many bytes the node has.
pub const UPLOAD_OFFSET: &str = "Upload-Offset";

/// A file that the node has whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AttachmentView {
    /// SHA-256 of its bytes: what transactions refer to.
    pub hash: String,
    /// Its bytes.
    pub size: u64,
    /// What it is called: a hint that nobody has checked; empty if nobody said.
    pub name: String,
    /// What it is said to be: a hint that nobody has checked; empty if nobody said.
    pub media_type: String,
    /// Whether somebody here vouches for it. It is data either way: a node executes no attachment.
    pub trusted: bool,
    /// The user who said last whether it is trusted; missing if a rule did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust_by: Option<String>,
    /// Who uploaded it here; missing if it came from a peer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uploaded_by: Option<String>,
    /// The party whose node sent it; missing if it was uploaded here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received_from: Option<String>,
    /// When it came.
    pub stored_at_ms: u64,
    /// Recorded transactions that refer to it. One that has any is not removed.
    pub references: u64,
}

/// The answer of `GET /v1/attachments`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AttachmentPage {
    /// In order of hash.
    pub attachments: Vec<AttachmentView>,
    /// Go on after this; missing when there is nothing more. A page can be short, or empty, and still name one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Which attachments are listed: the parameters of `GET /v1/attachments`. Each narrows the list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AttachmentQuery {
    /// The name contains this, in whatever case.
    pub name: Option<String>,
    /// The media type starts with this.
    pub media_type: Option<String>,
    /// Trusted ones, or others.
    pub trusted: Option<bool>,
    /// Those that no recorded transaction refers to, or others.
    pub unreferenced: Option<bool>,
}

/// The body of `PATCH /v1/attachments/{hash}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AttachmentChange {
    /// Whether somebody here vouches for it.
    pub trusted: bool,
}

/// The body of `POST /v1/uploads`: what is going to come. All of it may be left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewUpload {
    /// Bytes that will come: neither more nor fewer are taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// SHA-256 of the bytes that will come: no others are taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = "^[0-9a-f]{64}$"))]
    pub sha256: Option<String>,
    /// What the file is called: 1 to 255 bytes without slashes, backslashes and control characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    pub name: Option<String>,
    /// What the file is, such as `application/pdf`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 3, max = 127))]
    pub media_type: Option<String>,
}

/// An upload that has not been completed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UploadView {
    /// Names it.
    pub upload_id: String,
    /// Bytes that the node has: where the next ones belong.
    pub offset: u64,
    /// When the node forgets it, unless something is sent before.
    pub expires_at_ms: u64,
    /// Bytes that were promised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// The hash that was promised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// What the file is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What the file is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
}

/// Why a name or a media type is none; nothing if it is one.
pub fn bad_hint(name: Option<&str>, media_type: Option<&str>) -> Option<String> {
    let bad_name = name.and_then(|name| match name {
        "" => Some("a name has one byte at least".to_owned()),
        "." | ".." => Some(format!("'{name}' is no name of a file")),
        _ if name.len() > ATTACHMENT_NAME_BYTES_MAX => Some(format!(
            "a name has {ATTACHMENT_NAME_BYTES_MAX} bytes at most, this one {}",
            name.len()
        )),
        _ if name.contains(|c: char| matches!(c, '/' | '\\') || c.is_control()) => {
            Some("a name holds no slashes, backslashes and control characters".to_owned())
        }
        _ => None,
    });
    let bad_type = media_type.filter(|text| !is_media_type(text)).map(|text| {
        let shown: String = text.chars().take(64).collect();
        format!(
            "'{}' is no media type such as application/pdf",
            shown.escape_debug()
        )
    });
    bad_name.or(bad_type)
}

/// Whether a text is a media type without parameters (RFC 6838 4.2).
pub fn is_media_type(text: &str) -> bool {
    let part = |part: &str| {
        part.starts_with(|first: char| first.is_ascii_alphanumeric())
            && part
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte))
    };
    text.len() <= MEDIA_TYPE_BYTES_MAX
        && text
            .split_once('/')
            .is_some_and(|(kind, subtype)| part(kind) && part(subtype))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_nowhere_and_types_are_types() {
        let long = "n".repeat(ATTACHMENT_NAME_BYTES_MAX);
        for (name, good) in [
            ("contract.pdf", true),
            ("Vertrag Müller (2).pdf", true),
            ("..hidden", true),
            (long.as_str(), true),
            ("", false),
            (".", false),
            ("..", false),
            ("../../etc/passwd", false),
            ("/etc/passwd", false),
            ("a\\b", false),
            ("a\0b", false),
            ("a\r\nSet-Cookie: b", false),
            (&format!("{long}n"), false),
        ] {
            assert_eq!(bad_hint(Some(name), None).is_none(), good, "{name:?}");
        }
        for (text, good) in [
            ("application/pdf", true),
            ("image/svg+xml", true),
            ("application/vnd.x-y.z", true),
            ("", false),
            ("pdf", false),
            ("a/", false),
            ("/b", false),
            ("a/b/c", false),
            ("text/html; charset=utf-8", false),
            ("text/ht\nml", false),
        ] {
            assert_eq!(bad_hint(None, Some(text)).is_none(), good, "{text:?}");
        }
        assert_eq!(bad_hint(None, None), None);
    }
}
