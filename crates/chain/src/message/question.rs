//! Questions between nodes.

use primitives::Hash;

use super::wire::{Reader, malformed, put_ids};
use super::{BODIES_MAX, LOCATOR_MAX, QUESTION_BYTES_MAX, QUESTION_IDS_MAX};
use crate::{Height, Rejection, TxId};

const STATUS: u8 = 1;
const HEADERS: u8 = 2;
const BODIES: u8 = 3;
const TRANSACTIONS: u8 = 4;
const PARENTS: u8 = 5;
const POOL_IDS: u8 = 6;

/// The status of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Status {
    /// The height of its tip.
    pub height: Height,
    /// The hash of its tip.
    pub tip: Hash,
    /// The cumulative difficulty of its tip.
    pub difficulty: u128,
}

impl Status {
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.height.to_be_bytes());
        out.extend_from_slice(self.tip.as_bytes());
        out.extend_from_slice(&self.difficulty.to_be_bytes());
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, Rejection> {
        Ok(Self {
            height: Height::new(reader.u32()?),
            tip: reader.hash()?,
            difficulty: u128::from_be_bytes(reader.take()?),
        })
    }
}

/// A question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// Asks for the peer's status, and tells it the asker's.
    Status(Status),
    /// Asks for the headers after the newest of these blocks that is on the peer's chain. The answer names that block.
    Headers {
        /// Hashes of the asker's blocks, newest first, at most [`LOCATOR_MAX`].
        locator: Vec<Hash>,
    },
    /// Asks for the bodies of these blocks, in this order. The answer may stop early.
    Bodies(Vec<Hash>),
    /// Asks for those of these transactions that are in the peer's pool or in the block.
    Transactions {
        /// A block that has them, or [`Hash::ZERO`] for the pool alone.
        block: Hash,
        /// Their ids, ascending, at most [`QUESTION_IDS_MAX`].
        ids: Vec<TxId>,
    },
    /// Asks for those of these parent transactions that are in the peer's pool or in the block. Child blocks come with their
    /// lists of ids.
    Parents {
        /// A block that has them, or [`Hash::ZERO`] for the pool alone.
        block: Hash,
        /// Their ids, ascending, at most [`QUESTION_IDS_MAX`].
        ids: Vec<TxId>,
    },
    /// Asks for the ids of the transactions in the peer's pool above this one.
    PoolIds {
        /// Only greater ids are returned. All zeroes select all ids.
        after: TxId,
    },
}

impl Question {
    /// Encodes the question.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            Self::Status(status) => {
                out.push(STATUS);
                status.write(&mut out);
            }
            Self::Headers { locator } => {
                out.push(HEADERS);
                put_hashes(locator, &mut out);
            }
            Self::Bodies(hashes) => {
                out.push(BODIES);
                put_hashes(hashes, &mut out);
            }
            Self::Transactions { block, ids } => {
                out.push(TRANSACTIONS);
                out.extend_from_slice(block.as_bytes());
                put_ids(ids, &mut out);
            }
            Self::Parents { block, ids } => {
                out.push(PARENTS);
                out.extend_from_slice(block.as_bytes());
                put_ids(ids, &mut out);
            }
            Self::PoolIds { after } => {
                out.push(POOL_IDS);
                out.extend_from_slice(&after.0);
            }
        }
        out
    }

    /// Decodes a question.
    ///
    /// # Errors
    /// `chain_message.malformed`.
    pub fn read(bytes: &[u8]) -> Result<Self, Rejection> {
        if bytes.len() > QUESTION_BYTES_MAX {
            return Err(malformed(format!(
                "a question of {} bytes, at most {QUESTION_BYTES_MAX}",
                bytes.len()
            )));
        }
        let (kind, mut reader) = Reader::new(bytes)?;
        let question = match kind {
            STATUS => Self::Status(Status::read(&mut reader)?),
            HEADERS => Self::Headers {
                locator: some(reader.hashes(LOCATOR_MAX)?)?,
            },
            BODIES => Self::Bodies(some(reader.hashes(BODIES_MAX)?)?),
            TRANSACTIONS => Self::Transactions {
                block: reader.hash()?,
                ids: some(reader.ids(QUESTION_IDS_MAX)?)?,
            },
            PARENTS => Self::Parents {
                block: reader.hash()?,
                ids: some(reader.ids(QUESTION_IDS_MAX)?)?,
            },
            POOL_IDS => Self::PoolIds {
                after: TxId(reader.take()?),
            },
            kind => return Err(malformed(format!("unknown question kind {kind}"))),
        };
        reader.finish()?;
        Ok(question)
    }
}

fn some<T>(values: Vec<T>) -> Result<Vec<T>, Rejection> {
    if values.is_empty() {
        return Err(malformed("a question with an empty list"));
    }
    Ok(values)
}

fn put_hashes(hashes: &[Hash], out: &mut Vec<u8>) {
    for hash in hashes {
        out.extend_from_slice(hash.as_bytes());
    }
}
