//! Reads canonical CBOR and refuses everything else.

use super::DecodeError;
use super::encoder::{FALSE, NULL, TRUE, major};

/// Maximum nesting of items that are skipped, or decoded by a recursive type.
pub const DEPTH_MAX: u32 = 32;

/// A position in canonical CBOR.
#[derive(Clone, Debug)]
pub struct Decoder<'a> {
    input: &'a [u8],
    at: usize,
    depth: u32,
}

impl<'a> Decoder<'a> {
    /// Makes a decoder at the start of the input.
    #[must_use]
    pub fn new(input: &'a [u8]) -> Self {
        Self {
            input,
            at: 0,
            depth: 0,
        }
    }

    /// Returns the number of bytes read so far.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.at
    }

    /// Returns the bytes from an offset on to where the decoder stands.
    pub(super) fn since(&self, offset: usize) -> &'a [u8] {
        &self.input[offset..self.at]
    }

    /// Passes one byte that was looked at.
    pub(super) fn pass_first(&mut self) {
        self.at += 1;
    }

    /// Returns the number of bytes not read yet.
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.input.len() - self.at
    }

    /// Checks that the whole input has been read.
    pub fn finish(&self) -> Result<(), DecodeError> {
        if self.remaining() == 0 {
            Ok(())
        } else {
            Err(DecodeError::Trailing { offset: self.at })
        }
    }

    /// Returns an error for the item that was just read, which breaks a rule of its type.
    #[must_use]
    pub fn invalid(&self, reason: &'static str) -> DecodeError {
        DecodeError::Invalid {
            offset: self.at,
            reason,
        }
    }

    /// Reads an unsigned integer.
    pub fn u64(&mut self) -> Result<u64, DecodeError> {
        self.head_of(major::UNSIGNED, "an unsigned integer")
    }

    /// Reads an unsigned integer of 32 bits.
    pub fn u32(&mut self) -> Result<u32, DecodeError> {
        self.unsigned()
    }

    /// Reads an unsigned integer of 16 bits.
    pub fn u16(&mut self) -> Result<u16, DecodeError> {
        self.unsigned()
    }

    /// Reads an unsigned integer of 8 bits.
    pub fn u8(&mut self) -> Result<u8, DecodeError> {
        self.unsigned()
    }

    /// Reads an integer of 64 bits.
    pub fn i64(&mut self) -> Result<i64, DecodeError> {
        let offset = self.at;
        let (major, value) = self.head()?;
        let magnitude = i64::try_from(value).map_err(|_| DecodeError::OutOfRange { offset })?;
        match major {
            major::UNSIGNED => Ok(magnitude),
            major::NEGATIVE => Ok(!magnitude),
            _ => Err(DecodeError::WrongType {
                offset,
                expected: "an integer",
            }),
        }
    }

    /// Reads a byte string.
    pub fn bytes(&mut self) -> Result<&'a [u8], DecodeError> {
        let offset = self.at;
        let length = self.head_of(major::BYTES, "a byte string")?;
        self.take(offset, length)
    }

    /// Reads a byte string of at most `limit` bytes.
    pub fn bytes_within(&mut self, limit: usize) -> Result<&'a [u8], DecodeError> {
        let offset = self.at;
        within(offset, self.bytes()?, limit)
    }

    /// Reads a byte string of exactly `N` bytes.
    pub fn byte_array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let offset = self.at;
        let bytes = self.bytes()?;
        bytes.try_into().map_err(|_| DecodeError::WrongLength {
            offset,
            expected: N,
            found: bytes.len(),
        })
    }

    /// Reads a text string.
    pub fn text(&mut self) -> Result<&'a str, DecodeError> {
        let offset = self.at;
        let length = self.head_of(major::TEXT, "a text string")?;
        let bytes = self.take(offset, length)?;
        std::str::from_utf8(bytes).map_err(|_| DecodeError::BadText { offset })
    }

    /// Reads a text string of at most `limit` bytes.
    pub fn text_within(&mut self, limit: usize) -> Result<&'a str, DecodeError> {
        let offset = self.at;
        let text = self.text()?;
        within(offset, text.as_bytes(), limit)?;
        Ok(text)
    }

    /// Reads true or false.
    pub fn bool(&mut self) -> Result<bool, DecodeError> {
        let offset = self.at;
        match self.first()? {
            FALSE => {
                self.at += 1;
                Ok(false)
            }
            TRUE => {
                self.at += 1;
                Ok(true)
            }
            _ => Err(DecodeError::WrongType {
                offset,
                expected: "true or false",
            }),
        }
    }

    /// Reads null.
    pub fn null(&mut self) -> Result<(), DecodeError> {
        if self.peek_null() {
            self.at += 1;
            Ok(())
        } else {
            self.first()?;
            Err(DecodeError::WrongType {
                offset: self.at,
                expected: "null",
            })
        }
    }

    /// Tells whether null comes next; reads nothing.
    #[must_use]
    pub fn peek_null(&self) -> bool {
        self.input.get(self.at) == Some(&NULL)
    }

    /// Reads the head of an array. Returns the number of items, which is never more than the rest of the input can hold.
    pub fn array(&mut self) -> Result<usize, DecodeError> {
        let offset = self.at;
        let count = self.head_of(major::ARRAY, "an array")?;
        self.bounded(offset, count, self.remaining())
    }

    /// Reads the head of an array of at most `limit` items.
    pub fn array_within(&mut self, limit: usize) -> Result<usize, DecodeError> {
        let offset = self.at;
        let count = self.head_of(major::ARRAY, "an array")?;
        self.bounded(offset, count, self.remaining().min(limit))
    }

    /// Reads the head of an array of exactly so many items.
    pub fn expect_array(&mut self, expected: usize) -> Result<(), DecodeError> {
        let offset = self.at;
        let found = self.array()?;
        if found == expected {
            Ok(())
        } else {
            Err(DecodeError::WrongLength {
                offset,
                expected,
                found,
            })
        }
    }

    /// Reads the head of an array of `earlier` items, or of one more: a field that was added later. Returns whether that one follows.
    pub fn array_with_later(&mut self, earlier: usize) -> Result<bool, DecodeError> {
        let offset = self.at;
        let found = self.array()?;
        match found.checked_sub(earlier) {
            Some(0) => Ok(false),
            Some(1) => Ok(true),
            _ => Err(DecodeError::WrongLength {
                offset,
                expected: earlier,
                found,
            }),
        }
    }

    /// Reads the head of a map. Returns the number of pairs. The caller checks that the keys ascend; decoding a `BTreeMap`
    /// checks it.
    pub fn map(&mut self) -> Result<usize, DecodeError> {
        let offset = self.at;
        let count = self.head_of(major::MAP, "a map")?;
        self.bounded(offset, count, self.remaining() / 2)
    }

    /// Runs `read` at one more level of nesting. A recursive type decodes its inner values with it, so that the nesting stays
    /// within [`DEPTH_MAX`].
    pub fn nested<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<T, DecodeError> {
        if self.depth >= DEPTH_MAX {
            return Err(DecodeError::TooDeep { offset: self.at });
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    fn unsigned<T: TryFrom<u64>>(&mut self) -> Result<T, DecodeError> {
        let offset = self.at;
        T::try_from(self.u64()?).map_err(|_| DecodeError::OutOfRange { offset })
    }

    pub(super) fn first(&self) -> Result<u8, DecodeError> {
        self.input
            .get(self.at)
            .copied()
            .ok_or(DecodeError::Truncated { offset: self.at })
    }

    fn take(&mut self, offset: usize, length: u64) -> Result<&'a [u8], DecodeError> {
        let rest = &self.input[self.at..];
        let taken = usize::try_from(length)
            .ok()
            .and_then(|length| rest.get(..length))
            .ok_or(DecodeError::Truncated { offset })?;
        self.at += taken.len();
        Ok(taken)
    }

    fn bounded(&self, offset: usize, found: u64, limit: usize) -> Result<usize, DecodeError> {
        match usize::try_from(found) {
            Ok(count) if count <= limit => Ok(count),
            _ => Err(DecodeError::TooLong {
                offset,
                limit,
                found,
            }),
        }
    }

    fn head_of(&mut self, wanted: u8, expected: &'static str) -> Result<u64, DecodeError> {
        let offset = self.at;
        if self.first()? >> 5 != wanted {
            return Err(DecodeError::WrongType { offset, expected });
        }
        Ok(self.head()?.1)
    }

    /// Reads the head of an item that is not a simple value: its major type and its argument in the shortest form.
    pub(super) fn head(&mut self) -> Result<(u8, u64), DecodeError> {
        let offset = self.at;
        let first = self.first()?;
        let (major, info) = (first >> 5, first & 31);
        if major == major::TAG || major == major::SIMPLE {
            return Err(DecodeError::WrongType {
                offset,
                expected: "an integer, a string, an array or a map",
            });
        }
        if info < 24 {
            self.at += 1;
            return Ok((major, u64::from(info)));
        }
        let (width, least) = match info {
            24 => (1, 24),
            25 => (2, 0x100),
            26 => (4, 0x1_0000),
            27 => (8, 0x1_0000_0000),
            31 => {
                return Err(DecodeError::NotCanonical {
                    offset,
                    what: "an indefinite length",
                });
            }
            _ => {
                return Err(DecodeError::NotCanonical {
                    offset,
                    what: "a reserved length",
                });
            }
        };
        let argument = self
            .input
            .get(self.at + 1..)
            .and_then(|rest| rest.get(..width))
            .ok_or(DecodeError::Truncated { offset })?;
        let value = argument
            .iter()
            .fold(0, |value, byte| value << 8 | u64::from(*byte));
        if value < least {
            return Err(DecodeError::NotCanonical {
                offset,
                what: "a number or length not in its shortest form",
            });
        }
        self.at += 1 + width;
        Ok((major, value))
    }
}

fn within(offset: usize, bytes: &[u8], limit: usize) -> Result<&[u8], DecodeError> {
    if bytes.len() <= limit {
        Ok(bytes)
    } else {
        Err(DecodeError::TooLong {
            offset,
            limit,
            found: bytes.len() as u64,
        })
    }
}
