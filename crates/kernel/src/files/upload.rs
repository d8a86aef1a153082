//! A user's upload.

use primitives::Hash;

/// A user's upload.
pub(crate) struct Stored {
    pub(crate) hash: Hash,
    pub(crate) size: u64,
    pub(crate) name: String,
    pub(crate) media_type: String,
    pub(crate) user: String,
}
