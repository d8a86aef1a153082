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
mod traits;

pub use decoder::{DEPTH_MAX, Decoder};
pub use encoder::Encoder;
pub use error::DecodeError;
pub use impls::ByteBuf;
pub use traits::{Decode, Encode};
