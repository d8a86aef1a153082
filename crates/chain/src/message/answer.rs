//! What a node answers.

use primitives::Hash;

use super::wire::{Reader, malformed, put_count, put_ids};
use super::{BODIES_MAX, HEADERS_MAX, IDS_MAX, QUESTION_IDS_MAX, Status};
use crate::block::HEADER_BYTES;
use crate::transaction::PAYMENT_BYTES;
use crate::{Header, Rejection, Transaction, TxId};

const STATUS: u8 = 1;
const HEADERS: u8 = 2;
const BODIES: u8 = 3;
const TRANSACTIONS: u8 = 4;
const PARENTS: u8 = 5;
const POOL_IDS: u8 = 6;
const BUSY: u8 = 7;

/// A parent transaction, with the ids of what it carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The parent transaction.
    pub transaction: Transaction,
    /// A child block's list, ascending; of others none.
    pub ids: Vec<TxId>,
}

/// An answer. Each question has one of its kind, or [`Answer::Busy`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Where the node stands.
    Status(Status),
    /// Headers of the main chain.
    Headers {
        /// The newest block of the locator that is on the main chain; [`Hash::ZERO`] if none is.
        common: Hash,
        /// Those after it, ascending without gaps, at most [`HEADERS_MAX`]; none at the tip.
        headers: Vec<Header>,
    },
    /// Bodies, encoded, of the first blocks asked for; fewer where the node does not have one, or the answer was long enough.
    Bodies(Vec<Vec<u8>>),
    /// Transactions, those that the node has, in the order asked for.
    Transactions(Vec<Transaction>),
    /// Parent transactions, those that the node has, in the order asked for.
    Parents(Vec<Listed>),
    /// Ids of the pool, ascending, at most [`IDS_MAX`]; as many are a page, and more may follow.
    PoolIds(Vec<TxId>),
    /// The asker has asked too much for now.
    Busy,
}

impl Answer {
    /// The bytes.
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

    /// Reads an answer. Its length is the transport's to bound, by what was asked.
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
            kind => return Err(malformed(format!("answer of kind {kind}"))),
        };
        reader.finish()?;
        Ok(answer)
    }
}

/// Values to the end of the message, at most `max`; room is made for as many as fit the bytes.
fn all<'a, T>(
    reader: &mut Reader<'a>,
    max: usize,
    fit: usize,
    read: impl Fn(&mut Reader<'a>) -> Result<T, Rejection>,
) -> Result<Vec<T>, Rejection> {
    let mut values = Vec::with_capacity(fit.min(max));
    while !reader.is_empty() {
        if values.len() == max {
            return Err(malformed(format!("more than {max} in an answer")));
        }
        values.push(read(reader)?);
    }
    Ok(values)
}
