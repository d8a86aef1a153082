//! One record: the rows of one commit, as bytes.
//!
//! ```text
//! checksum u64 | sequence u64 | payload length u32 | 0 u32 | payload | padding to 8
//! payload = rows: table u8 (+ 0x80 when deleted) | key length u16 | value length u32 | key | value
//! ```
//! Little endian. The checksum is XXH3-64, seeded with the segment's salt, over everything after it but the padding.

use thiserror::Error;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Bytes before the payload.
pub(crate) const PREFIX_BYTES: usize = 24;
/// Maximum payload of a record, in bytes. A reader takes a longer one for the end of the log, so none is ever written.
pub(crate) const PAYLOAD_BYTES_MAX: usize = 1 << 30;
/// Maximum length of a key, in bytes.
pub(crate) const KEY_BYTES_MAX: usize = u16::MAX as usize;

/// Bytes of a row besides its key and value.
pub(crate) const ROW_PREFIX_BYTES: usize = 7;

const DELETED: u8 = 0x80;

/// A record under construction. Its buffer is reused.
pub(crate) struct Record {
    buffer: Vec<u8>,
    payload_bytes_max: usize,
}

/// A record that no reader would accept. Nothing of it was written.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("a record of the log holds {bytes} bytes, expected at most {max}")]
pub(crate) struct RecordTooLong {
    bytes: usize,
    max: usize,
}

/// One row of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row<'a> {
    /// The table's number, below 128; whether there is such a table is the reader's business.
    pub(crate) table: u8,
    pub(crate) key: &'a [u8],
    pub(crate) value: Option<&'a [u8]>,
}

impl Record {
    /// Makes a record whose payload has at most `payload_bytes_max` bytes, and never more than [`PAYLOAD_BYTES_MAX`].
    pub(crate) fn new(payload_bytes_max: usize) -> Self {
        Self {
            buffer: Vec::new(),
            payload_bytes_max: payload_bytes_max.min(PAYLOAD_BYTES_MAX),
        }
    }

    /// Starts an empty record.
    pub(crate) fn clear(&mut self) {
        self.buffer.clear();
        self.buffer.resize(PREFIX_BYTES, 0);
    }

    /// Makes room for rows of this many bytes together.
    pub(crate) fn reserve(&mut self, bytes: usize) {
        // The padding at the end takes less than eight bytes.
        self.buffer.reserve(bytes + 8);
    }

    /// Adds a row. The caller has checked that key and value are within [`KEY_BYTES_MAX`] and [`PAYLOAD_BYTES_MAX`].
    ///
    /// # Panics
    /// A length does not fit its field: a clipped one would spoil the record.
    pub(crate) fn push(&mut self, row: Row<'_>) {
        Self::put(&mut self.buffer, row);
    }

    /// Appends a row to `buffer`. See [`Record::push`].
    pub(crate) fn put(buffer: &mut Vec<u8>, row: Row<'_>) {
        let deleted = if row.value.is_none() { DELETED } else { 0 };
        // A deletion is stored with an empty value.
        let value = row.value.unwrap_or_default();
        let key_bytes = u16::try_from(row.key.len()).expect("the length of the key was checked");
        let value_bytes = u32::try_from(value.len()).expect("the length of the value was checked");
        buffer.push(row.table | deleted);
        buffer.extend_from_slice(&key_bytes.to_le_bytes());
        buffer.extend_from_slice(&value_bytes.to_le_bytes());
        buffer.extend_from_slice(row.key);
        buffer.extend_from_slice(value);
    }

    /// Completes the record and returns its bytes, padding included. Fails if a reader would not accept it.
    pub(crate) fn seal(&mut self, sequence: u64, salt: u64) -> Result<&[u8], RecordTooLong> {
        let bytes = self.buffer.len() - PREFIX_BYTES;
        let too_long = RecordTooLong {
            bytes,
            max: self.payload_bytes_max,
        };
        let payload = u32::try_from(bytes).map_err(|_| too_long)?;
        if bytes > self.payload_bytes_max {
            return Err(too_long);
        }
        self.buffer[8..16].copy_from_slice(&sequence.to_le_bytes());
        self.buffer[16..20].copy_from_slice(&payload.to_le_bytes());
        self.buffer[20..24].fill(0);
        let checksum = xxh3_64_with_seed(&self.buffer[8..], salt);
        self.buffer[..8].copy_from_slice(&checksum.to_le_bytes());
        self.buffer.resize(self.buffer.len().next_multiple_of(8), 0);
        Ok(&self.buffer)
    }

    /// Frees the memory of an unusually large record.
    pub(crate) fn shrink(&mut self, limit_bytes: usize) {
        if self.buffer.capacity() > limit_bytes {
            self.buffer = Vec::new();
        }
    }
}

/// The first fields of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Prefix {
    pub(crate) checksum: u64,
    pub(crate) sequence: u64,
    pub(crate) payload_bytes: usize,
}

impl Prefix {
    /// Parses a prefix; `None` if the bytes cannot be one.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let word = |at: usize| {
            bytes
                .get(at..at + 8)
                .map(|b| u64::from_le_bytes(b.try_into().expect("8 bytes")))
        };
        let (checksum, sequence, lengths) = (word(0)?, word(8)?, word(16)?);
        let payload_bytes = usize::try_from(lengths).ok()?;
        (sequence > 0 && payload_bytes <= PAYLOAD_BYTES_MAX).then_some(Self {
            checksum,
            sequence,
            payload_bytes,
        })
    }

    /// Returns the record's length in the file.
    pub(crate) fn record_bytes(&self) -> usize {
        (PREFIX_BYTES + self.payload_bytes).next_multiple_of(8)
    }

    /// Returns whether the bytes of `record`, which include the prefix, have the checksum.
    pub(crate) fn is_intact(&self, record: &[u8], salt: u64) -> bool {
        record
            .get(8..PREFIX_BYTES + self.payload_bytes)
            .is_some_and(|covered| xxh3_64_with_seed(covered, salt) == self.checksum)
    }
}

/// Iterates over the rows of an intact payload. Yields `None` for a malformed row, which only another program can have written.
pub(crate) fn rows(mut payload: &[u8]) -> impl Iterator<Item = Option<Row<'_>>> {
    std::iter::from_fn(move || {
        if payload.is_empty() {
            return None;
        }
        let row = split_row(payload);
        payload = row.map_or(&[], |(_, rest)| rest);
        Some(row.map(|(row, _)| row))
    })
}

fn split_row(bytes: &[u8]) -> Option<(Row<'_>, &[u8])> {
    let (prefix, rest) = bytes.split_at_checked(ROW_PREFIX_BYTES)?;
    let key_bytes = u16::from_le_bytes([prefix[1], prefix[2]]) as usize;
    let value_bytes = u32::from_le_bytes([prefix[3], prefix[4], prefix[5], prefix[6]]) as usize;
    let (key, rest) = rest.split_at_checked(key_bytes)?;
    let (value, rest) = rest.split_at_checked(value_bytes)?;
    let table = prefix[0] & !DELETED;
    let value = (prefix[0] & DELETED == 0).then_some(value);
    Some((Row { table, key, value }, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: [Row<'static>; 3] = [
        Row {
            table: 1,
            key: b"key",
            value: Some(b"value"),
        },
        Row {
            table: 4,
            key: b"k",
            value: None,
        },
        Row {
            table: 10,
            key: b"",
            value: Some(b""),
        },
    ];

    fn sealed() -> Vec<u8> {
        let mut record = Record::new(PAYLOAD_BYTES_MAX);
        record.clear();
        ROWS.into_iter().for_each(|row| record.push(row));
        record.seal(7, 42).expect("short").to_vec()
    }

    #[test]
    fn record_above_its_maximum_is_not_sealed() {
        let payload = sealed().len().next_multiple_of(8) - PREFIX_BYTES;
        for (max, expect) in [(payload, true), (10, false)] {
            let mut record = Record::new(max);
            record.clear();
            ROWS.into_iter().for_each(|row| record.push(row));
            assert_eq!(record.seal(7, 42).is_ok(), expect, "at most {max} bytes");
        }
    }

    #[test]
    #[should_panic(expected = "the length of the key was checked")]
    fn key_longer_than_its_field_is_not_clipped() {
        let key = vec![0; KEY_BYTES_MAX + 1];
        let mut record = Record::new(PAYLOAD_BYTES_MAX);
        record.clear();
        record.push(Row {
            table: 1,
            key: &key,
            value: None,
        });
    }

    #[test]
    fn there_and_back() {
        let bytes = sealed();
        let prefix = Prefix::read(&bytes).expect("a prefix");
        assert_eq!((prefix.sequence, prefix.record_bytes()), (7, bytes.len()));
        assert!(prefix.is_intact(&bytes, 42));
        assert!(!prefix.is_intact(&bytes, 43), "another segment's salt");
        let read: Option<Vec<Row<'_>>> =
            rows(&bytes[PREFIX_BYTES..PREFIX_BYTES + prefix.payload_bytes]).collect();
        assert_eq!(read.expect("well formed"), ROWS);
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let bytes = sealed();
        let end = PREFIX_BYTES + Prefix::read(&bytes).expect("a prefix").payload_bytes;
        for bit in 0..end * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let intact =
                Prefix::read(&damaged).is_some_and(|prefix| prefix.is_intact(&damaged, 42));
            assert!(!intact, "bit {bit}");
        }
    }

    #[test]
    fn truncated_rows_end_the_reading() {
        let bytes = sealed();
        let end = PREFIX_BYTES + Prefix::read(&bytes).expect("a prefix").payload_bytes;
        let read: Option<Vec<Row<'_>>> = rows(&bytes[PREFIX_BYTES..end - 1]).collect();
        assert_eq!(read, None);
    }
}
