//! The key that authenticates a store's inventory and anchor.

use primitives::{Domain, Hash, Seed};

/// Separates this key from everything else that is derived from the same seed.
const KEY_CONTEXT: &[u8] = b"tallystick store custody";

/// A secret that authenticates the inventory and the anchor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CustodyKey(Seed);

impl CustodyKey {
    /// Derives the key from the secret seed of the identity that owns the store.
    #[must_use]
    pub fn derive(seed: &[u8; 32]) -> Self {
        let context = Hash::plain(KEY_CONTEXT);
        let key = Hash::of(Domain::Derive, &[context.as_bytes(), seed]);
        Self(Seed::new(*key.as_bytes()))
    }

    /// The key of a store without an identity. It detects damage, but no edit.
    pub(super) fn of_nobody() -> Self {
        Self(Seed::new([0; 32]))
    }

    pub(super) fn bytes(&self) -> &[u8; 32] {
        self.0.expose()
    }
}
