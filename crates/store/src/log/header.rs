//! The first sector of a slot: the segment that the slot holds, and whether that segment is still needed.
//!
//! ```text
//! "tallylog" | version u32 | state u32 (1 live, 2 retired) | id u64 | first live id u64 | first sequence u64 | salt u64
//! | XXH3-64 of the former
//! ```
//! All numbers are little endian. The header fits one sector, so that after a power cut the disk holds either the old or the new
//! header.

use xxhash_rust::xxh3::xxh3_64;

/// The offset of the first record.
pub(crate) const HEADER_BYTES: usize = 512;
/// The version this program writes and the only one it reads.
pub(crate) const VERSION: u32 = 1;

const MAGIC: &[u8; 8] = b"tallylog";
const USED_BYTES: usize = 56;

/// A segment's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// Segments are numbered from 1, without gaps.
    pub(crate) id: u64,
    /// The id of the oldest segment whose rows were not all in sorted tables when this segment was started.
    pub(crate) first_live: u64,
    /// The sequence of the first record here.
    pub(crate) first_sequence: u64,
    /// Seeds the checksums of the records.
    pub(crate) salt: u64,
    /// Whether all rows are in tables or in later segments, so that the slot may be reused.
    pub(crate) retired: bool,
}

/// The content of a slot's first sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sector {
    /// A header of this version.
    Valid(Header),
    /// An intact header of another version.
    OtherVersion(u32),
    /// No header, or a torn write.
    Unusable,
}

impl Header {
    pub(crate) fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        let state = if self.retired { 2u32 } else { 1 };
        let fields: [&[u8]; 7] = [
            MAGIC,
            &VERSION.to_le_bytes(),
            &state.to_le_bytes(),
            &self.id.to_le_bytes(),
            &self.first_live.to_le_bytes(),
            &self.first_sequence.to_le_bytes(),
            &self.salt.to_le_bytes(),
        ];
        let used = fields.concat();
        bytes[..used.len()].copy_from_slice(&used);
        let checksum = xxh3_64(&bytes[..used.len()]);
        bytes[used.len()..USED_BYTES].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Sector {
        let Some(bytes) = bytes.get(..USED_BYTES) else {
            return Sector::Unusable;
        };
        let word = |at: usize| {
            let bytes = bytes[at..at + 8].try_into();
            u64::from_le_bytes(bytes.expect("8 bytes"))
        };
        if &bytes[..8] != MAGIC || xxh3_64(&bytes[..48]) != word(48) {
            return Sector::Unusable;
        }
        let (version, state) = (word(8) as u32, word(8) >> 32);
        if version != VERSION {
            return Sector::OtherVersion(version);
        }
        Sector::Valid(Header {
            id: word(16),
            first_live: word(24),
            first_sequence: word(32),
            salt: word(40),
            retired: state != 1,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back_and_never_damaged() {
        let header = Header {
            id: 9,
            first_live: 8,
            first_sequence: 77,
            salt: 0xdead_beef,
            retired: false,
        };
        for header in [
            header,
            Header {
                retired: true,
                ..header
            },
        ] {
            let bytes = header.encode();
            assert_eq!(Header::decode(&bytes), Sector::Valid(header));
            for bit in 0..USED_BYTES * 8 {
                let mut damaged = bytes;
                damaged[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(Header::decode(&damaged), Sector::Unusable, "bit {bit}");
            }
        }
        assert_eq!(Header::decode(&[0; HEADER_BYTES]), Sector::Unusable);
        assert_eq!(Header::decode(&[]), Sector::Unusable);
    }
}
