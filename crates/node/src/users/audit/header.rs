//! The first line of a file of the log, from which its position in the log follows.

use std::time::{SystemTime, UNIX_EPOCH};

use kernel::folder::{AUDIT_NAME_BYTES, AuditMark};
use primitives::{Hash, hex};
use serde::{Deserialize, Serialize};

/// The first line of a file.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Header {
    /// Milliseconds since the Unix epoch.
    time_ms: u64,
    /// `audit.begins`, or `audit.continues` after a file that was set aside.
    action: String,
    /// The log's name.
    log: String,
    /// The number of the file in the log.
    part: u64,
}

impl Header {
    /// The first line of a new log.
    pub(super) fn new() -> std::io::Result<Self> {
        let mut name = [0; AUDIT_NAME_BYTES];
        getrandom::fill(&mut name).map_err(std::io::Error::other)?;
        Ok(Self::with("audit.begins", &name, 0))
    }

    /// The first line of the file after this one.
    pub(super) fn after(mark: &AuditMark) -> Self {
        // Only a file written by hand has the last number. Its successor is then known by its length.
        let part = mark.part.saturating_add(1);
        Self::with("audit.continues", &mark.log, part)
    }

    fn with(action: &str, name: &[u8; AUDIT_NAME_BYTES], part: u64) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            time_ms: since.map_or(0, primitives::whole_ms),
            action: action.to_owned(),
            log: hex::encode(name),
            part,
        }
    }
}

/// Returns the position in a log whose last file has this first line and this length. The log of an earlier release has the name that
/// follows from its first line.
pub(super) fn mark_of_line(first: &[u8], bytes: u64) -> AuditMark {
    let header = serde_json::from_slice::<Header>(first).ok();
    let named = header.and_then(|header| {
        let name = hex::decode_array(&header.log)?;
        Some((name, header.part))
    });
    let (log, part) = named.unwrap_or_else(|| {
        let hash = Hash::plain(first);
        let name = hash.as_bytes().first_chunk::<AUDIT_NAME_BYTES>();
        (*name.expect("a hash is longer"), 0)
    });
    AuditMark { log, part, bytes }
}
