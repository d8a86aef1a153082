//! Blocks that must be on the chain, by the settings or by an operator's order.

use std::collections::BTreeMap;

use primitives::Hash;

use crate::Height;
use crate::core::limits::TRUSTED_MAX;
use crate::port::{Reads, StoreFailure, Table, damaged};
use crate::state::Overlay;

/// Key in `Meta` for the blocks that an operator trusts, with height and hash each.
const TRUSTED: &[u8] = b"trusted";

/// The trusted blocks by height, at most [`TRUSTED_MAX`].
#[derive(Debug)]
pub(in crate::core) struct TrustedBlocks {
    all: BTreeMap<Height, Hash>,
}

impl TrustedBlocks {
    /// Reads the blocks that were trusted before. The settings' own take precedence.
    pub(in crate::core) fn open<R: Reads<Table>>(
        rows: &Overlay<R>,
        settings: &[(Height, Hash)],
    ) -> Result<Self, StoreFailure> {
        let mut all: BTreeMap<Height, Hash> = settings.iter().copied().take(TRUSTED_MAX).collect();
        // Without a row, no operator trusts a block.
        let stored = rows.get(Table::Meta, TRUSTED)?.unwrap_or_default();
        let (stored, rest) = stored.as_chunks::<36>();
        if !rest.is_empty() {
            return Err(damaged("the row of the trusted blocks has a wrong length"));
        }
        for row in stored.iter().take(TRUSTED_MAX) {
            let (mut height, mut hash) = ([0; 4], [0; 32]);
            height.copy_from_slice(&row[..4]);
            hash.copy_from_slice(&row[4..]);
            all.entry(Height::from_be_bytes(height))
                .or_insert(Hash::from_bytes(hash));
        }
        Ok(Self { all })
    }

    /// Returns whether no more blocks may be added.
    pub(super) fn is_full(&self) -> bool {
        self.all.len() >= TRUSTED_MAX
    }

    /// Returns whether another block is trusted at this height.
    pub(in crate::core) fn contradict(&self, height: Height, hash: &Hash) -> bool {
        self.all.get(&height).is_some_and(|trusted| trusted != hash)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&Height, &Hash)> {
        self.all.iter()
    }

    /// Adds a block, and writes the row.
    pub(super) fn add<R: Reads<Table>>(
        &mut self,
        rows: &mut Overlay<R>,
        height: Height,
        hash: Hash,
    ) {
        self.all.insert(height, hash);
        assert!(self.all.len() <= TRUSTED_MAX, "{}", self.all.len());
        let mut value = Vec::with_capacity(self.all.len() * 36);
        for (height, hash) in &self.all {
            value.extend_from_slice(&height.to_be_bytes());
            value.extend_from_slice(hash.as_bytes());
        }
        rows.put(Table::Meta, TRUSTED, value);
    }
}
