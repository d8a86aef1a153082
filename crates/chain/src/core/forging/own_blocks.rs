//! The blocks that this node's keys have forged, kept so that no key signs a second block on one parent.
//!
//! Blocks may be rolled back: by an operator's order, or for a branch that turns out to be bad. If the same parent becomes the
//! tip again, the key reuses its first block as long as the store holds it.

use std::collections::BTreeMap;

use primitives::Hash;

use crate::core::limits::OWN_BLOCKS_MAX;
use crate::port::{Reads, StoreFailure, Table, damaged};
use crate::state::Overlay;
use crate::{Header, Height};

/// Key prefix in `Meta`, followed by height, parent and forger, for the hash of a block forged on this node.
const FORGED: &[u8] = b"forged";

/// Height, parent and forger of a block.
type OwnBlockKey = (Height, Hash, [u8; 32]);

/// Local blocks that the chain may still return to.
#[derive(Debug, Default)]
pub(in crate::core) struct OwnBlocks {
    blocks: BTreeMap<OwnBlockKey, Hash>,
}

impl OwnBlocks {
    /// Reads the hashes of own blocks from a store.
    pub(in crate::core) fn open<R: Reads<Table>>(rows: &Overlay<R>) -> Result<Self, StoreFailure> {
        let end = [FORGED, &[u8::MAX; 69]].concat();
        let found = rows.scan(Table::Meta, FORGED, Some(&end), OWN_BLOCKS_MAX)?;
        let mut blocks = BTreeMap::new();
        for (key, value) in found {
            let block = decode_key(&key[FORGED.len()..]);
            let hash = value.try_into().ok().map(Hash::from_bytes);
            match (block, hash) {
                (Some(block), Some(hash)) => blocks.insert(block, hash),
                _ => return Err(damaged("a row of a forged block does not decode")),
            };
        }
        Ok(Self { blocks })
    }

    /// Returns the block that a key forged on a parent.
    pub(in crate::core) fn on(
        &self,
        height: Height,
        previous: &Hash,
        forger: &[u8; 32],
    ) -> Option<Hash> {
        self.blocks.get(&(height, *previous, *forger)).copied()
    }

    /// Remembers a local block. Forgets blocks below `lowest` and, beyond the limit, the lowest ones.
    pub(in crate::core) fn add<R: Reads<Table>>(
        &mut self,
        rows: &mut Overlay<R>,
        header: &Header,
        hash: Hash,
        lowest: Height,
    ) {
        let block = (header.height, header.previous, header.forger);
        self.blocks.insert(block, hash);
        rows.put(Table::Meta, row_key(&block), *hash.as_bytes());
        while let Some((block, _)) = self.blocks.first_key_value()
            && (block.0 < lowest || self.blocks.len() > OWN_BLOCKS_MAX)
        {
            rows.delete(Table::Meta, row_key(block));
            self.blocks.pop_first();
        }
        assert!(self.blocks.len() <= OWN_BLOCKS_MAX, "{}", self.blocks.len());
    }
}

fn row_key((height, previous, forger): &OwnBlockKey) -> Vec<u8> {
    [
        FORGED,
        &height.to_be_bytes(),
        previous.as_bytes(),
        &forger[..],
    ]
    .concat()
}

fn decode_key(key: &[u8]) -> Option<OwnBlockKey> {
    let (height, rest) = key.split_first_chunk::<4>()?;
    let (previous, forger) = rest.split_first_chunk::<32>()?;
    let forger = forger.try_into().ok()?;
    let height = Height::from_be_bytes(*height);
    Some((height, Hash::from_bytes(*previous), forger))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BlockTimestamp;
    use crate::genesis::small_genesis;
    use crate::state::MemoryStore;

    fn header(height: Height, parent: u8) -> Header {
        Header {
            height,
            time: BlockTimestamp::new(1),
            previous: Hash::plain(&[parent]),
            forger: [3; 32],
            generation: Hash::ZERO,
            base_target: crate::pos::BaseTarget::new(1),
            difficulty: 1,
            parent_count: 0,
            child_count: 0,
            body_bytes: 0,
            root: Hash::ZERO,
            signature: [0; 64],
        }
    }

    #[test]
    fn blocks_that_cannot_come_back_are_forgotten() {
        let mut rows = Overlay::open(MemoryStore::new(), &small_genesis()).expect("an empty store");
        let mut forged = OwnBlocks::default();
        for number in 1..=5 {
            let hash = Hash::plain(&[number]);
            let height = Height::new(number.into());
            let lowest = height.minus_or_genesis(2);
            forged.add(&mut rows, &header(height, 7), hash, lowest);
        }
        let again = OwnBlocks::open(&rows).expect("rows");
        for (height, expected) in [(2, None), (3, Some(3u8)), (5, Some(5))] {
            let height = Height::new(height);
            let expected = expected.map(|byte| Hash::plain(&[byte]));
            for forged in [&forged, &again] {
                let previous = header(height, 7).previous;
                assert_eq!(forged.on(height, &previous, &[3; 32]), expected, "{height}");
                assert_eq!(forged.on(height, &Hash::ZERO, &[3; 32]), None);
                assert_eq!(forged.on(height, &previous, &[4; 32]), None);
            }
        }
    }
}
