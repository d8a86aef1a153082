//! Attachments: files that transactions refer to by the SHA-256 of their bytes. Clients send them as uploads.
//!
//! The bytes are not JSON: they are the body of a request or of an answer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Maximum length of an attachment's name, in bytes.
pub const ATTACHMENT_NAME_BYTES_MAX: usize = 255;
/// Maximum length of a media type, in bytes.
pub const MEDIA_TYPE_BYTES_MAX: usize = 127;
/// Maximum number of attachments on one page.
pub const ATTACHMENT_PAGE_MAX: u32 = 1_000;
/// The header with the position of a request's bytes in the file; in an answer, the number of bytes that the node has.
pub const UPLOAD_OFFSET: &str = "Upload-Offset";

/// A complete file in the node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AttachmentView {
    /// SHA-256 of its bytes. Transactions refer to it by this hash.
    pub hash: String,
    /// Its size, in bytes.
    pub size: u64,
    /// Its name: an unchecked hint; empty if none was given.
    pub name: String,
    /// Its media type: an unchecked hint; empty if none was given.
    pub media_type: String,
    /// Whether a user of this node vouches for it. It is only data in any case: a node executes no attachment.
    pub trusted: bool,
    /// The user who last set whether it is trusted; missing if a rule did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust_by: Option<String>,
    /// The user who uploaded it here; missing if it came from a peer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uploaded_by: Option<String>,
    /// The party whose node sent it; missing if it was uploaded here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received_from: Option<String>,
    /// The time at which it was stored.
    pub stored_at_ms: u64,
    /// Recorded transactions that refer to it. A file with any is not removed.
    pub references: u64,
}

/// The answer of `GET /v1/attachments`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AttachmentPage {
    /// In order of hash.
    pub attachments: Vec<AttachmentView>,
    /// The cursor of the next page; missing on the last page. A page may be short or even empty and still have
    /// one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Filters of the list: the parameters of `GET /v1/attachments`. Each narrows the list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AttachmentQuery {
    /// Text contained in the name, in upper or lower case.
    pub name: Option<String>,
    /// The beginning of the media type.
    pub media_type: Option<String>,
    /// True for trusted files, false for others.
    pub trusted: Option<bool>,
    /// True for files that no recorded transaction refers to, false for others.
    pub unreferenced: Option<bool>,
}

/// The body of `PATCH /v1/attachments/{hash}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AttachmentChange {
    /// Whether this node's users vouch for the file.
    pub trusted: bool,
}

/// The body of `POST /v1/uploads`: the announced file. All fields are optional.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewUpload {
    /// The size in bytes: an upload of any other size is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// SHA-256 of the bytes: an upload with any other hash is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = "^[0-9a-fA-F]{64}$"))]
    pub sha256: Option<String>,
    /// The name of the file: 1 to 255 bytes without slashes, backslashes and control characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    pub name: Option<String>,
    /// The media type of the file, such as `application/pdf`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 3, max = 127))]
    pub media_type: Option<String>,
}

/// An incomplete upload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UploadView {
    /// The upload's id.
    pub upload_id: String,
    /// Number of bytes that the node has: the offset of the next byte to send.
    pub offset: u64,
    /// The time at which the node deletes it, unless more bytes arrive before.
    pub expires_at_ms: u64,
    /// The announced size in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// The announced hash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// The name of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The media type of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
}

/// Returns why a name or a media type is invalid; `None` if both are valid.
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

/// Returns whether a text is a media type without parameters (RFC 6838 4.2).
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
