//! SHA-256 over parts, without an intermediate copy of the whole.
//!
//! Most hashed content of this project is a few short parts, so the block loop is written here over the compression function of
//! `sha2`, which uses the processor's SHA instructions if available. Short content is put into its final layout with padding in
//! one step. This takes a fifth less time than passing it to a buffer part by part.

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

/// Content with its padding up to this many blocks is laid out at once.
const SHORT_BLOCKS: usize = 4;

/// The length at the end of the padding.
const LENGTH_BYTES: usize = 8;

/// One bit, in a byte of its own, and the length.
const PADDING_MIN: usize = 1 + LENGTH_BYTES;

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
    /// Makes a hasher that has hashed nothing.
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
        self.length += bytes.len() as u64;
        let mut rest = bytes;
        if self.used > 0 {
            let taken = rest.len().min(BLOCK - self.used);
            self.block[self.used..self.used + taken].copy_from_slice(&rest[..taken]);
            self.used += taken;
            rest = &rest[taken..];
            if self.used < BLOCK {
                return;
            }
            compress(&mut self.state, &[self.block]);
            self.used = 0;
        }
        let (blocks, tail) = rest.as_chunks::<BLOCK>();
        if !blocks.is_empty() {
            compress(&mut self.state, blocks);
        }
        self.block[..tail.len()].copy_from_slice(tail);
        self.used = tail.len();
    }

    /// Returns the hash of everything taken.
    #[must_use]
    pub fn finish(mut self) -> Hash {
        let bits: [u8; LENGTH_BYTES] = (8 * self.length).to_be_bytes();
        self.block[self.used] = 0x80;
        self.block[self.used + 1..].fill(0);
        if self.used + PADDING_MIN > BLOCK {
            compress(&mut self.state, &[self.block]);
            self.block = [0; BLOCK];
        }
        self.block[BLOCK - LENGTH_BYTES..].copy_from_slice(&bits);
        compress(&mut self.state, &[self.block]);
        hash_of_state(self.state)
    }
}

fn compress(state: &mut [u32; 8], blocks: &[[u8; BLOCK]]) {
    crypto_counters::count_hashed_blocks(blocks.len());
    compress256(state, blocks);
}

/// Returns the hash of a first byte and then the parts, one after the other.
pub(crate) fn hash_parts(first: u8, parts: &[&[u8]]) -> Hash {
    let mut blocks = [[0; BLOCK]; SHORT_BLOCKS];
    let content = blocks.as_flattened_mut();
    content[0] = first;
    let mut used = 1;
    for part in parts {
        let Some(place) = content.get_mut(used..used + part.len()) else {
            return hash_long(first, parts);
        };
        place.copy_from_slice(part);
        used += part.len();
    }
    let taken = (used + PADDING_MIN).div_ceil(BLOCK);
    if taken > SHORT_BLOCKS {
        return hash_long(first, parts);
    }
    content[used] = 0x80;
    let end = taken * BLOCK;
    content[end - LENGTH_BYTES..end].copy_from_slice(&(used as u64 * 8).to_be_bytes());
    let mut state = INITIAL;
    compress(&mut state, &blocks[..taken]);
    hash_of_state(state)
}

fn hash_long(first: u8, parts: &[&[u8]]) -> Hash {
    let mut hasher = Hasher::new();
    hasher.update(&[first]);
    for part in parts {
        hasher.update(part);
    }
    hasher.finish()
}

fn hash_of_state(state: [u32; 8]) -> Hash {
    let mut hash = [0; 32];
    for (bytes, word) in hash.as_chunks_mut::<4>().0.iter_mut().zip(state) {
        *bytes = word.to_be_bytes();
    }
    Hash::from_bytes(hash)
}

impl Default for Hasher {
    fn default() -> Self {
        Self::new()
    }
}
