//! The encoding of headers.

use primitives::Hash;

use super::Header;
use crate::Rejection;

/// Length of an encoded header, with its signature.
pub const HEADER_BYTES: usize = 1 + 4 + 4 + 32 + 32 + 32 + 8 + 16 + 4 + 4 + 4 + 32 + 64;

const VERSION: u8 = 1;

impl Header {
    /// Encodes the header, with the signature last.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        let mut at = 0;
        let mut put = |part: &[u8]| {
            bytes[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        };
        put(&[VERSION]);
        put(&self.height.to_be_bytes());
        put(&self.time.to_be_bytes());
        put(self.previous.as_bytes());
        put(&self.forger);
        put(self.generation.as_bytes());
        put(&self.base_target.to_be_bytes());
        put(&self.difficulty.to_be_bytes());
        put(&self.parent_count.to_be_bytes());
        put(&self.child_count.to_be_bytes());
        put(&self.body_bytes.to_be_bytes());
        put(self.root.as_bytes());
        put(&self.signature);
        bytes
    }
}

/// Decodes a header of exactly [`HEADER_BYTES`].
pub fn read_header(bytes: &[u8]) -> Result<Header, Rejection> {
    let bytes: &[u8; HEADER_BYTES] = bytes.try_into().map_err(|_| {
        malformed(format!(
            "a header has {HEADER_BYTES} bytes, not {}",
            bytes.len()
        ))
    })?;
    if bytes[0] != VERSION {
        return Err(malformed(format!("header version {}", bytes[0])));
    }
    let mut at = 1;
    Ok(Header {
        height: u32::from_be_bytes(take(bytes, &mut at)),
        time: u32::from_be_bytes(take(bytes, &mut at)),
        previous: Hash::from_bytes(take(bytes, &mut at)),
        forger: take(bytes, &mut at),
        generation: Hash::from_bytes(take(bytes, &mut at)),
        base_target: u64::from_be_bytes(take(bytes, &mut at)),
        difficulty: u128::from_be_bytes(take(bytes, &mut at)),
        parent_count: u32::from_be_bytes(take(bytes, &mut at)),
        child_count: u32::from_be_bytes(take(bytes, &mut at)),
        body_bytes: u32::from_be_bytes(take(bytes, &mut at)),
        root: Hash::from_bytes(take(bytes, &mut at)),
        signature: take(bytes, &mut at),
    })
}

/// Returns the next field. The fields' lengths add up to the array's length.
fn take<const N: usize>(bytes: &[u8; HEADER_BYTES], at: &mut usize) -> [u8; N] {
    let mut field = [0; N];
    field.copy_from_slice(&bytes[*at..*at + N]);
    *at += N;
    field
}

fn malformed(detail: impl Into<String>) -> Rejection {
    Rejection::new("chain_block.malformed", detail)
}
