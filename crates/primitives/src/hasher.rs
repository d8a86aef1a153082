//! SHA-256 over parts, without an intermediate copy of the whole.
//!
//! Most of what this project hashes is shorter than two blocks, so the block loop is written here over the compression
//! function of `sha2` (which uses the processor's SHA instructions where there are any).

use sha2::block_api::compress256;

use crate::Hash;

/// FIPS 180-4, 5.3.3.
const INITIAL: [u32; 8] = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];

const BLOCK: usize = 64;

/// A SHA-256 in progress, for content that comes in pieces (attachments, documents).
#[derive(Clone)]
pub struct Hasher {
    state: [u32; 8],
    block: [u8; BLOCK],
    /// Bytes of `block` in use, always less than a block.
    used: usize,
    /// Bytes taken in all.
    length: u64,
}

impl Hasher {
    /// Nothing hashed yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            state: INITIAL,
            block: [0; BLOCK],
            used: 0,
            length: 0,
        }
    }

    /// Takes the next bytes of the content.
    pub fn update(&mut self, bytes: &[u8]) {
        self.length = self.length.wrapping_add(bytes.len() as u64);
        let mut rest = bytes;
        if self.used > 0 {
            let taken = rest.len().min(BLOCK - self.used);
            self.block[self.used..self.used + taken].copy_from_slice(&rest[..taken]);
            self.used += taken;
            rest = &rest[taken..];
            if self.used < BLOCK {
                return;
            }
            compress256(&mut self.state, &[self.block]);
            self.used = 0;
        }
        let (blocks, tail) = rest.as_chunks::<BLOCK>();
        if !blocks.is_empty() {
            compress256(&mut self.state, blocks);
        }
        self.block[..tail.len()].copy_from_slice(tail);
        self.used = tail.len();
    }

    /// The hash of everything taken.
    #[must_use]
    pub fn finish(mut self) -> Hash {
        let bits = self.length.wrapping_mul(8).to_be_bytes();
        self.block[self.used] = 0x80;
        self.block[self.used + 1..].fill(0);
        if self.used + 1 > BLOCK - bits.len() {
            compress256(&mut self.state, &[self.block]);
            self.block = [0; BLOCK];
        }
        self.block[BLOCK - bits.len()..].copy_from_slice(&bits);
        compress256(&mut self.state, &[self.block]);
        let mut hash = [0; 32];
        for (bytes, word) in hash.as_chunks_mut::<4>().0.iter_mut().zip(self.state) {
            *bytes = word.to_be_bytes();
        }
        Hash::from_bytes(hash)
    }
}

impl Default for Hasher {
    fn default() -> Self {
        Self::new()
    }
}
