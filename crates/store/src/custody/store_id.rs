//! The random number that names one store.

use std::fmt;

use primitives::hex;

/// The name of one store: random, drawn when the store is made, adopted from an older format, or adopted from a copy. It stays the same for as long as
/// the store's files continue each other.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StoreId([u8; 16]);

impl StoreId {
    /// Draws an id.
    pub(crate) fn draw() -> std::io::Result<Self> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes)
            .map_err(|error| std::io::Error::other(format!("no random bytes: {error}")))?;
        Ok(Self(bytes))
    }

    /// Returns the id with these bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// Returns its bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// Reads 32 lower-case hexadecimal digits.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let id = Self(hex::decode_array(text)?);
        (id.to_string() == text).then_some(id)
    }
}

impl fmt::Display for StoreId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&hex::encode(&self.0))
    }
}

impl fmt::Debug for StoreId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
