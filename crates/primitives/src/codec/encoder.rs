//! Writes canonical CBOR.

/// Major types (RFC 8949, 3.1), in the upper three bits of an item's first byte.
pub(super) mod major {
    pub const UNSIGNED: u8 = 0;
    pub const NEGATIVE: u8 = 1;
    pub const BYTES: u8 = 2;
    pub const TEXT: u8 = 3;
    pub const ARRAY: u8 = 4;
    pub const MAP: u8 = 5;
    pub const TAG: u8 = 6;
    pub const SIMPLE: u8 = 7;
}

pub(super) const FALSE: u8 = 0xf4;
pub(super) const TRUE: u8 = 0xf5;
pub(super) const NULL: u8 = 0xf6;

/// A growing byte string of canonical CBOR items.
///
/// The caller must write as many items as it announced for an array or map, and the keys of a map in ascending order of their
/// encoded bytes. Encoding a `BTreeMap` does both.
#[derive(Clone, Debug, Default)]
pub struct Encoder {
    bytes: Vec<u8>,
}

impl Encoder {
    /// Makes an encoder that has written nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::with_capacity(128)
    }

    /// Makes an encoder that has written nothing, with room for `capacity` bytes.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        Self {
            bytes: Vec::with_capacity(capacity),
        }
    }

    /// Returns the written bytes.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Returns the bytes written so far.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the number of bytes written so far.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Tells whether nothing was written.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Clears the written bytes and keeps the capacity, for a buffer that is used repeatedly.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// Writes an unsigned integer.
    pub fn u64(&mut self, value: u64) {
        self.head(major::UNSIGNED, value);
    }

    /// Writes an integer.
    pub fn i64(&mut self, value: i64) {
        if value < 0 {
            // -1 - n is the bitwise complement of n.
            self.head(major::NEGATIVE, !value as u64);
        } else {
            self.head(major::UNSIGNED, value as u64);
        }
    }

    /// Writes a byte string.
    pub fn bytes(&mut self, value: &[u8]) {
        self.head(major::BYTES, value.len() as u64);
        self.bytes.extend_from_slice(value);
    }

    /// Writes a text string.
    pub fn text(&mut self, value: &str) {
        self.head(major::TEXT, value.len() as u64);
        self.bytes.extend_from_slice(value.as_bytes());
    }

    /// Appends true or false.
    pub fn bool(&mut self, value: bool) {
        self.bytes.push(if value { TRUE } else { FALSE });
    }

    /// Appends null.
    pub fn null(&mut self) {
        self.bytes.push(NULL);
    }

    /// Writes the head of an array; its `count` items follow.
    pub fn array(&mut self, count: usize) {
        self.head(major::ARRAY, count as u64);
    }

    /// Writes the head of a map; its `count` pairs follow, keys ascending by their encoded bytes.
    pub fn map(&mut self, count: usize) {
        self.head(major::MAP, count as u64);
    }

    /// Items that are canonical CBOR already.
    pub fn raw(&mut self, items: &[u8]) {
        self.bytes.extend_from_slice(items);
    }

    fn head(&mut self, major: u8, value: u64) {
        let first = major << 5;
        match value {
            0..24 => self.bytes.push(first | value as u8),
            24..0x100 => self.bytes.extend_from_slice(&[first | 24, value as u8]),
            0x100..0x1_0000 => {
                let [a, b] = (value as u16).to_be_bytes();
                self.bytes.extend_from_slice(&[first | 25, a, b]);
            }
            0x1_0000..0x1_0000_0000 => {
                let [a, b, c, d] = (value as u32).to_be_bytes();
                self.bytes.extend_from_slice(&[first | 26, a, b, c, d]);
            }
            _ => {
                self.bytes.push(first | 27);
                self.bytes.extend_from_slice(&value.to_be_bytes());
            }
        }
    }
}
