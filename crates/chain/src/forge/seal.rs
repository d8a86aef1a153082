//! The forger's signature under a block.

use primitives::{Hash, KeyPair, PublicKey};

use super::Candidate;
use crate::Rejection;
use crate::block::{Block, Header};

/// What a block's place on the chain says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seat {
    /// Its height.
    pub height: u32,
    /// Its time, seconds since genesis.
    pub time: u32,
    /// The block before.
    pub previous: Hash,
    /// The forger's generation signature.
    pub generation: Hash,
    /// The base target after it.
    pub base_target: u64,
    /// The difficulty of all blocks, this one included.
    pub difficulty: u128,
}

/// A signed block.
#[derive(Clone, Debug)]
pub struct Sealed {
    /// Its header.
    pub header: Header,
    /// Its hash.
    pub hash: Hash,
    /// Its body.
    pub candidate: Candidate,
}

impl Sealed {
    /// The block as carried.
    #[must_use]
    pub fn to_block(&self) -> Block {
        Block {
            header: self.header.clone(),
            body: self.candidate.to_body(),
        }
    }
}

/// Signs a block with the forger's key, which must be an Ed25519 key.
pub fn seal(
    candidate: Candidate,
    seat: &Seat,
    genesis: &Hash,
    key: &KeyPair,
) -> Result<Sealed, Rejection> {
    let mut header = Header {
        height: seat.height,
        time: seat.time,
        previous: seat.previous,
        forger: chain_key(key)?,
        generation: seat.generation,
        base_target: seat.base_target,
        difficulty: seat.difficulty,
        // Bounded by the limits of the parameters, which are 32 bits wide.
        parent_count: candidate.entries.len() as u32,
        child_count: candidate.child_count,
        body_bytes: candidate.body_bytes,
        root: candidate.root,
        signature: [0; 64],
    };
    header.sign(genesis, key);
    Ok(Sealed {
        hash: header.hash(genesis),
        header,
        candidate,
    })
}

/// The public key of a forger or bundler: Ed25519, as all keys of accounts.
pub(crate) fn chain_key(key: &KeyPair) -> Result<[u8; 32], Rejection> {
    match key.public() {
        PublicKey::Ed25519(bytes) => Ok(*bytes),
        other => Err(Rejection::new(
            "chain_forge.wrong_key",
            format!("{other} is no Ed25519 key"),
        )),
    }
}
