//! The mark: the last acknowledged record, in one sector that is overwritten after each commit and never synced.
//!
//! ```text
//! "tallymrk" | version u32 | 0 u32 | store id 16 | generation u64 | sequence u64 | XXH3-64 of the former
//! ```
//! Little endian. A killed process leaves the mark exact. A power cut may leave an older one, never a newer one than the log: the
//! mark is written after the record's sync.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use super::store_id::StoreId;
use crate::directory::sync_directory;

const MAGIC: &[u8; 8] = b"tallymrk";
const VERSION: u32 = 1;
const SECTOR_BYTES: usize = 512;
const COVERED_BYTES: usize = 48;
const USED_BYTES: usize = COVERED_BYTES + 8;

/// The contents of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) store: StoreId,
    /// The inventory's generation at that time, or an earlier one.
    pub(super) generation: u64,
    /// The last acknowledged record.
    pub(super) sequence: u64,
}

impl Position {
    fn encode(&self) -> [u8; SECTOR_BYTES] {
        let mut sector = [0; SECTOR_BYTES];
        sector[..8].copy_from_slice(MAGIC);
        sector[8..12].copy_from_slice(&VERSION.to_le_bytes());
        sector[16..32].copy_from_slice(self.store.as_bytes());
        sector[32..40].copy_from_slice(&self.generation.to_le_bytes());
        sector[40..48].copy_from_slice(&self.sequence.to_le_bytes());
        let checksum = xxh3_64(&sector[..COVERED_BYTES]);
        sector[COVERED_BYTES..USED_BYTES].copy_from_slice(&checksum.to_le_bytes());
        sector
    }

    /// Decodes a mark. Returns `None` if the sector is not exactly as this program writes one.
    fn decode(bytes: &[u8]) -> Option<Self> {
        let (store, rest) = bytes.get(16..)?.split_first_chunk::<16>()?;
        let (generation, rest) = rest.split_first_chunk::<8>()?;
        let (sequence, _) = rest.split_first_chunk::<8>()?;
        let position = Self {
            store: StoreId::from_bytes(*store),
            generation: u64::from_le_bytes(*generation),
            sequence: u64::from_le_bytes(*sequence),
        };
        (position.encode() == bytes).then_some(position)
    }
}

/// An open mark.
pub(super) struct Mark {
    file: File,
}

impl Mark {
    /// Makes the mark of a store without records, durably.
    pub(super) fn create(path: &Path, position: &Position) -> io::Result<Self> {
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .open(path)?;
        file.write_all_at(&position.encode(), 0)?;
        file.sync_all()?;
        if let Some(parent) = path.parent() {
            sync_directory(parent)?;
        }
        Ok(Self { file })
    }

    /// Reads a mark: `None` if it is not there, no position if it is damaged.
    pub(super) fn read(path: &Path) -> io::Result<Option<Option<Position>>> {
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut sector = [0; SECTOR_BYTES];
        let whole = file.metadata()?.len() == SECTOR_BYTES as u64;
        if whole {
            file.read_exact_at(&mut sector, 0)?;
        }
        Ok(Some(Position::decode(&sector)))
    }

    /// Opens a mark that was read.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        Ok(Self { file })
    }

    /// Overwrites the mark. Not durable.
    pub(super) fn write(&self, position: &Position) -> io::Result<()> {
        self.file.write_all_at(&position.encode(), 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flipped_bit_is_noticed() {
        let position = Position {
            store: StoreId::from_bytes([4; 16]),
            generation: 2,
            sequence: 99,
        };
        let sector = position.encode();
        assert_eq!(Position::decode(&sector), Some(position));
        for bit in 0..SECTOR_BYTES * 8 {
            let mut damaged = sector;
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Position::decode(&damaged), None, "bit {bit}");
        }
        assert_eq!(Position::decode(&[0; SECTOR_BYTES]), None);
        assert_eq!(Position::decode(&[]), None);
    }
}
