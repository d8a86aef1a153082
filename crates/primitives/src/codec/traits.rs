//! Values that have a canonical encoding, and lists of them.

use super::{DecodeError, Decoder, Encoder};

/// Maximum memory, in bytes, that is reserved for a list before its items are read. A longer list grows as items are read.
const RESERVE_BYTES_MAX: usize = 4096;

/// A value with a canonical encoding.
pub trait Encode {
    /// Appends the encoding.
    fn encode(&self, e: &mut Encoder);

    /// Returns the encoding.
    fn to_bytes(&self) -> Vec<u8> {
        let mut e = Encoder::new();
        self.encode(&mut e);
        e.into_bytes()
    }

    /// Appends several values as one item: a byte string if they are bytes, and otherwise an array.
    #[doc(hidden)]
    fn encode_all(values: &[Self], e: &mut Encoder)
    where
        Self: Sized,
    {
        e.array(values.len());
        for value in values {
            value.encode(e);
        }
    }
}

/// A value that can be read from its canonical encoding.
pub trait Decode: Sized {
    /// Reads one value.
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError>;

    /// Reads one value from the whole input.
    fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut d = Decoder::new(bytes);
        let value = Self::decode(&mut d)?;
        d.finish()?;
        Ok(value)
    }

    /// Reads at most `limit` values that [`Encode::encode_all`] has written.
    #[doc(hidden)]
    fn decode_all(d: &mut Decoder<'_>, limit: usize) -> Result<Vec<Self>, DecodeError> {
        d.array_items(limit)
    }
}

impl Decoder<'_> {
    /// Reads a list of at most `limit` values: an array, or a byte string where the values are bytes.
    pub fn vec_of<T: Decode>(&mut self, limit: usize) -> Result<Vec<T>, DecodeError> {
        T::decode_all(self, limit)
    }

    /// Reads an array of at most `limit` values.
    fn array_items<T: Decode>(&mut self, limit: usize) -> Result<Vec<T>, DecodeError> {
        let count = self.array_within(limit)?;
        let reserve = RESERVE_BYTES_MAX / size_of::<T>().max(1);
        let mut values = Vec::with_capacity(count.min(reserve));
        for _ in 0..count {
            values.push(T::decode(self)?);
        }
        Ok(values)
    }
}
