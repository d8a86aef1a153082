//! The announced properties of a file.

use primitives::Hash;

/// The announced properties of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Promise {
    /// Its length in bytes.
    pub size: Option<u64>,
    /// Its hash.
    pub hash: Option<Hash>,
    /// Its name.
    pub name: Option<String>,
    /// The media type.
    pub media_type: Option<String>,
}
