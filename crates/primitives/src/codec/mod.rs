//! The canonical codec: the deterministic form of CBOR (RFC 8949 section 4.2.1), and only that.
//!
//! One value has one encoding. Lengths are definite, integers and lengths take their shortest form, there are no floats,
//! no tags and no undefined. The decoder refuses everything else, so every accepted input encodes to the same bytes
//! again.
//!
//! Decoding never panics, and its allocations are bounded by the bytes that are present: a length larger than the rest
//! of the input is refused before anything is allocated for it.

mod decoder;
mod encoder;
mod error;
mod impls;
mod macros;
mod skip;

pub use decoder::{DEPTH_MAX, Decoder};
pub use encoder::Encoder;
pub use error::DecodeError;
pub use impls::ByteBuf;

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
