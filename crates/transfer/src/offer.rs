//! A sender's description of a file.

/// A sender's description of a file, given before bytes move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Bytes.
    pub size: u64,
    /// Display name. It is not covered by the hash.
    pub name: Option<String>,
    /// Media type. It is not covered by the hash.
    pub media_type: Option<String>,
}
