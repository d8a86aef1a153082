//! Answers between nodes.

use primitives::Hash;

use super::wire::{Reader, malformed, put_count, put_ids};
use super::{BODIES_MAX, HEADERS_MAX, IDS_MAX, QUESTION_IDS_MAX, Status};
use crate::block::HEADER_BYTES;
use crate::params::BLOCK_BYTES_MAX;
use crate::transaction::PAYMENT_BYTES;
use crate::{Header, Rejection, Transaction, TxId};

/// Maximum length of an answer, in bytes: the largest body that a network may allow, its length, and the kind. Other answers are
/// shorter.
pub const ANSWER_BYTES_MAX: usize = 1 + 4 + BLOCK_BYTES_MAX;

const STATUS: u8 = 1;
const HEADERS: u8 = 2;
const BODIES: u8 = 3;
const TRANSACTIONS: u8 = 4;
const PARENTS: u8 = 5;
const POOL_IDS: u8 = 6;
const BUSY: u8 = 7;

/// A parent transaction, with the ids of the transactions that it carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The parent transaction.
    pub transaction: Transaction,
    /// The list of a child block, ascending. Empty for other transactions.
    pub ids: Vec<TxId>,
}

/// An answer. Each question is answered by its own kind or by [`Answer::Busy`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The node's status.
    Status(Status),
    /// Headers of the main chain.
    Headers {
        /// The newest block of the locator that is on the main chain, or [`Hash::ZERO`] if there is none.
        common: Hash,
        /// The headers after it, ascending without gaps, at most [`HEADERS_MAX`]. Empty at the tip.
        headers: Vec<Header>,
    },
    /// The encoded bodies of the first requested blocks. There are fewer if the node lacks one or the answer is long enough.
    Bodies(Vec<Vec<u8>>),
    /// The requested transactions that the node has, in the requested order.
    Transactions(Vec<Transaction>),
    /// The requested parent transactions that the node has, in the requested order.
    Parents(Vec<Listed>),
    /// Ids of the pool, ascending, at most [`IDS_MAX`]. If the answer has this maximum, more ids may follow.
    PoolIds(Vec<TxId>),
    /// The asker has exceeded its budget for now.
    Busy,
}

impl Answer {
    /// Encodes the answer.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            Self::Status(status) => {
                out.push(STATUS);
                status.write(&mut out);
            }
            Self::Headers { common, headers } => {
                out.push(HEADERS);
                out.extend_from_slice(common.as_bytes());
                for header in headers {
                    out.extend_from_slice(&header.to_bytes());
                }
            }
            Self::Bodies(bodies) => {
                out.push(BODIES);
                for body in bodies {
                    put_count(body.len(), &mut out);
                    out.extend_from_slice(body);
                }
            }
            Self::Transactions(transactions) => {
                out.push(TRANSACTIONS);
                for transaction in transactions {
                    transaction.write(&mut out);
                }
            }
            Self::Parents(lists) => {
                out.push(PARENTS);
                for list in lists {
                    list.transaction.write(&mut out);
                    put_count(list.ids.len(), &mut out);
                    put_ids(&list.ids, &mut out);
                }
            }
            Self::PoolIds(ids) => {
                out.push(POOL_IDS);
                put_ids(ids, &mut out);
            }
            Self::Busy => out.push(BUSY),
        }
        out
    }

    /// Decodes an answer. The transport must bound its length according to the question.
    ///
    /// # Errors
    /// `chain_message.malformed`, or the code of the transaction or header in it.
    pub fn read(bytes: &[u8]) -> Result<Self, Rejection> {
        let (kind, mut reader) = Reader::new(bytes)?;
        let answer = match kind {
            STATUS => Self::Status(Status::read(&mut reader)?),
            HEADERS => {
                let common = reader.hash()?;
                let fit = bytes.len() / HEADER_BYTES;
                Self::Headers {
                    common,
                    headers: all(&mut reader, HEADERS_MAX, fit, Reader::header)?,
                }
            }
            BODIES => Self::Bodies(all(&mut reader, BODIES_MAX, 0, |reader| {
                let length = reader.count(usize::MAX, 1)?;
                Ok(reader.slice(length)?.to_vec())
            })?),
            TRANSACTIONS => {
                let fit = bytes.len() / PAYMENT_BYTES;
                Self::Transactions(all(
                    &mut reader,
                    QUESTION_IDS_MAX,
                    fit,
                    Reader::transaction,
                )?)
            }
            PARENTS => Self::Parents(all(&mut reader, QUESTION_IDS_MAX, 0, |reader| {
                Ok(Listed {
                    transaction: reader.transaction()?,
                    ids: reader.counted_ids(IDS_MAX)?,
                })
            })?),
            POOL_IDS => Self::PoolIds(reader.ids(IDS_MAX)?),
            BUSY => Self::Busy,
            kind => return Err(malformed(format!("unknown answer kind {kind}"))),
        };
        reader.finish()?;
        Ok(answer)
    }
}

/// Decodes values to the end of the message, at most `max`. Allocates for `fit` of them, which is bounded by the bytes.
fn all<'a, T>(
    reader: &mut Reader<'a>,
    max: usize,
    fit: usize,
    read: impl Fn(&mut Reader<'a>) -> Result<T, Rejection>,
) -> Result<Vec<T>, Rejection> {
    let mut values = Vec::with_capacity(fit.min(max));
    while !reader.is_empty() {
        if values.len() == max {
            return Err(malformed(format!("more than {max} items in an answer")));
        }
        values.push(read(reader)?);
    }
    Ok(values)
}
