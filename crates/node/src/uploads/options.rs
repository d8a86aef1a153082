//! Limits of uploads.

use std::time::Duration;

/// Limits of uploads. Each one holds for any behaviour of clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UploadLimits {
    /// Bytes of one file: the network's `max_attachment_bytes`.
    pub bytes_max: u64,
    /// Uploads begun and not completed, of all users. Each keeps a file open.
    pub open_max: usize,
    /// The same, of one user.
    pub open_per_user_max: usize,
    /// Transfers that run at once, uploads and downloads of all users. Each takes a quarter of a megabyte at most.
    pub transfers_max: usize,
    /// The same, of one user.
    pub transfers_per_user_max: usize,
    /// Time after which an idle upload is forgotten.
    pub idle: Duration,
}

impl Default for UploadLimits {
    fn default() -> Self {
        Self {
            bytes_max: u64::MAX,
            open_max: 256,
            open_per_user_max: 128,
            transfers_max: 256,
            transfers_per_user_max: 192,
            idle: Duration::from_secs(24 * 3_600),
        }
    }
}
