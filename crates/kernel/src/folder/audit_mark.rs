//! The position that the audit log has reached.

/// Bytes of an audit log's name.
pub const AUDIT_NAME_BYTES: usize = 16;

/// A position in the audit log of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditMark {
    /// The log's random name. A log that begins anew has another one.
    pub log: [u8; AUDIT_NAME_BYTES],
    /// The number of the log's last file, from 0.
    pub part: u64,
    /// The length of that file in bytes.
    pub bytes: u64,
}

primitives::record!(AuditMark { log, part, bytes });

impl AuditMark {
    /// Returns whether this is a later position of the same log, or the same position.
    #[must_use]
    pub fn follows(&self, earlier: &AuditMark) -> bool {
        self.log == earlier.log && (self.part, self.bytes) >= (earlier.part, earlier.bytes)
    }
}
