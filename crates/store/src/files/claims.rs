//! Claims: files that a caller is about to refer to.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use primitives::Hash;

/// The number of claims of each file.
#[derive(Default)]
pub(super) struct Claims {
    held: Mutex<HashMap<Hash, usize>>,
}

impl Claims {
    fn held(&self) -> MutexGuard<'_, HashMap<Hash, usize>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn has(&self, hash: &Hash) -> bool {
        self.held().contains_key(hash)
    }

    /// Claims a file. The caller holds the lock of the file's shelf, so that no other thread
    /// removes the file meanwhile.
    pub(super) fn claim(self: &Arc<Self>, hash: Hash) -> Claim {
        *self.held().entry(hash).or_default() += 1;
        Claim {
            claims: Arc::clone(self),
            hash,
        }
    }
}

/// Protects a file from removal until it is dropped.
pub struct Claim {
    claims: Arc<Claims>,
    hash: Hash,
}

impl Claim {
    /// Returns the hash of the file.
    #[must_use]
    pub fn hash(&self) -> Hash {
        self.hash
    }
}

impl std::fmt::Debug for Claim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Claim").field(&self.hash).finish()
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut held = self.claims.held();
        let last = held.get_mut(&self.hash).is_none_or(|count| {
            *count -= 1;
            *count == 0
        });
        if last {
            held.remove(&self.hash);
        }
    }
}
