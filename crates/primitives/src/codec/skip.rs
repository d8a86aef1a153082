//! Skips items of unknown type, and still checks that they are canonical.

use super::encoder::{FALSE, NULL, TRUE, major};
use super::{DecodeError, Decoder};

impl<'a> Decoder<'a> {
    /// Reads past one item, checking that it is canonical.
    pub fn skip(&mut self) -> Result<(), DecodeError> {
        let offset = self.offset();
        let first = self.first()?;
        if first >> 5 == major::SIMPLE {
            return match first {
                FALSE | TRUE | NULL => {
                    self.pass_first();
                    Ok(())
                }
                _ => Err(DecodeError::NotCanonical {
                    offset,
                    what: "a simple value or float outside the format",
                }),
            };
        }
        match first >> 5 {
            major::BYTES => self.bytes().map(drop),
            major::TEXT => self.text().map(drop),
            major::ARRAY => {
                let count = self.array()?;
                self.nested(|d| (0..count).try_for_each(|_| d.skip()))
            }
            major::MAP => {
                let count = self.map()?;
                self.nested(|d| d.skip_pairs(count))
            }
            _ => self.head().map(drop),
        }
    }

    /// Returns the bytes of one item, checked to be canonical.
    pub fn raw(&mut self) -> Result<&'a [u8], DecodeError> {
        let from = self.offset();
        self.skip()?;
        Ok(self.since(from))
    }

    fn skip_pairs(&mut self, count: usize) -> Result<(), DecodeError> {
        let mut before: Option<&[u8]> = None;
        for _ in 0..count {
            let offset = self.offset();
            let key = self.raw()?;
            check_ascending(offset, before, key)?;
            before = Some(key);
            self.skip()?;
        }
        Ok(())
    }
}

/// Checks that the keys of a map ascend by their encoded bytes, so that no key occurs twice.
pub(super) fn check_ascending(
    offset: usize,
    before: Option<&[u8]>,
    key: &[u8],
) -> Result<(), DecodeError> {
    if before.is_some_and(|before| before >= key) {
        return Err(DecodeError::NotCanonical {
            offset,
            what: "map keys not in ascending order",
        });
    }
    Ok(())
}
