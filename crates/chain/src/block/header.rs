//! The header of a block.

use primitives::{
    Domain, Hash, KeyPair, PublicKey, Scheme, Signature, SignatureContext, SignedMessage,
};

use crate::pos::BaseTarget;
use crate::{AccountId, BlockTimestamp, Height, Rejection};

/// Length of an encoded header, with its signature.
pub const HEADER_BYTES: usize = 1 + 4 + 4 + 32 + 32 + 32 + 8 + 16 + 4 + 4 + 4 + 32 + 64;

const VERSION: u8 = 1;

/// The header of a block, which its forger signs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Number of earlier blocks. Genesis has height 0 and no such header.
    pub height: Height,
    /// Its time, later than the previous block's.
    pub time: BlockTimestamp,
    /// Hash of the previous block, or the genesis hash at height 1.
    pub previous: Hash,
    /// The forger's public key.
    pub forger: [u8; 32],
    /// The generation signature: `SHA-256(generation signature of the previous block | forger)`.
    pub generation: Hash,
    /// The base target after this block. A higher one makes hits easier.
    pub base_target: BaseTarget,
    /// The cumulative work up to this block.
    pub difficulty: u128,
    /// Number of parent transactions, including child blocks.
    pub parent_count: u32,
    /// Number of transactions that the child blocks carry.
    pub child_count: u32,
    /// Length of the body in bytes.
    pub body_bytes: u32,
    /// The Merkle root of the parent transactions' ids, or [`Hash::ZERO`] for an empty body.
    pub root: Hash,
    /// The forger's signature over [`Header::hash`].
    pub signature: [u8; 64],
}

impl Header {
    /// Returns the block's hash over the genesis hash and the header without its signature.
    #[must_use]
    pub fn hash(&self, genesis: &Hash) -> Hash {
        let bytes = self.to_bytes();
        Hash::of(
            Domain::ChainBlock,
            &[
                genesis.as_bytes(),
                &bytes[..HEADER_BYTES - Signature::LENGTH],
            ],
        )
    }

    /// Signs the header with the forger's key.
    pub fn sign(&mut self, genesis: &Hash, key: &KeyPair) {
        let signature = key.sign(SignatureContext::ChainBlock, &self.hash(genesis));
        self.signature = *signature.bytes();
    }

    /// Returns the forger's signature with its key, for a check in a batch. `hash` is the result of [`Header::hash`].
    #[must_use]
    pub fn signed_message(&self, hash: Hash) -> SignedMessage {
        SignedMessage {
            key: PublicKey::Ed25519(self.forger),
            context: SignatureContext::ChainBlock,
            message: hash,
            signature: Signature::new(Scheme::Ed25519, self.signature),
        }
    }

    /// Returns the forger's account.
    #[must_use]
    pub fn forger_account(&self) -> AccountId {
        AccountId::of_key(&self.forger)
    }
}

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
            "a header of {} bytes, expected {HEADER_BYTES}",
            bytes.len()
        ))
    })?;
    if bytes[0] != VERSION {
        return Err(malformed(format!("header version {}", bytes[0])));
    }
    let mut at = 1;
    Ok(Header {
        height: Height::from_be_bytes(take(bytes, &mut at)),
        time: BlockTimestamp::from_be_bytes(take(bytes, &mut at)),
        previous: Hash::from_bytes(take(bytes, &mut at)),
        forger: take(bytes, &mut at),
        generation: Hash::from_bytes(take(bytes, &mut at)),
        base_target: BaseTarget::from_be_bytes(take(bytes, &mut at)),
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
