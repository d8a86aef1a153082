//! Seals a block with the forger's signature.

use primitives::{Hash, KeyPair, PublicKey};

use super::Candidate;
use crate::Rejection;
use crate::block::{CarriedBlock, Header};

/// Makes a block of a candidate. `header` must contain the consensus fields: height, time, previous, forger, generation, base
/// target and difficulty. Counts, length, root and signature are set here. The key must be the forger's.
pub fn seal(
    candidate: Candidate,
    mut header: Header,
    genesis: &Hash,
    key: &KeyPair,
) -> Result<CarriedBlock, Rejection> {
    let forger = chain_key(key)?;
    if header.forger != forger {
        return Err(Rejection::new(
            "chain_forge.wrong_key",
            "the header names another forger",
        ));
    }
    // Bounded by the limits of the parameters, which are 32 bits wide.
    header.parent_count = candidate.body.len() as u32;
    header.child_count = candidate.child_count;
    header.body_bytes = candidate.body_bytes;
    header.root = candidate.root;
    header.sign(genesis, key);
    Ok(CarriedBlock {
        hash: header.hash(genesis),
        header,
        body: candidate.body,
    })
}

/// Returns the public key of a forger or bundler, which must be Ed25519 as for all accounts.
pub(crate) fn chain_key(key: &KeyPair) -> Result<[u8; 32], Rejection> {
    match key.public() {
        PublicKey::Ed25519(bytes) => Ok(*bytes),
        other => Err(Rejection::new(
            "chain_forge.wrong_key",
            format!("{other} is not an Ed25519 key"),
        )),
    }
}
