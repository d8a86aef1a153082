//! Gossiped messages.

use super::wire::{Reader, malformed, put_count, put_ids};
use super::{GOSSIP_BYTES_MAX, GOSSIP_RATES_MAX, GOSSIP_TRANSACTIONS_MAX, IDS_MAX};
use crate::bundle::{RATES_BYTES, SignedRates};
use crate::transaction::PAYMENT_BYTES;
use crate::{Header, Rejection, Transaction, TxId};

const TRANSACTIONS: u8 = 1;
const BLOCK: u8 = 2;
const CHILD_BLOCK: u8 = 3;
const RATES: u8 = 4;

/// A gossiped message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gossip {
    /// Transactions that the sender has accepted: at least one, at most [`GOSSIP_TRANSACTIONS_MAX`].
    Transactions(Vec<Transaction>),
    /// A block.
    Block(Announcement),
    /// A child block with its list.
    ChildBlock {
        /// The child block.
        transaction: Transaction,
        /// The ids of the transactions that it carries, ascending.
        ids: Vec<TxId>,
    },
    /// Rates of bundlers: at least one, at most [`GOSSIP_RATES_MAX`].
    Rates(Vec<SignedRates>),
}

/// A block without its transactions. A peer that has the transactions assembles the body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Announcement {
    /// The header.
    pub header: Header,
    /// The ids of its parent transactions, ascending. Empty if they are too many for a message.
    pub ids: Vec<TxId>,
}

impl Gossip {
    /// Encodes the message.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            Self::Transactions(transactions) => {
                out.push(TRANSACTIONS);
                for transaction in transactions {
                    transaction.write(&mut out);
                }
            }
            Self::Block(announcement) => {
                out.push(BLOCK);
                out.extend_from_slice(&announcement.header.to_bytes());
                put_ids(&announcement.ids, &mut out);
            }
            Self::ChildBlock { transaction, ids } => {
                out.push(CHILD_BLOCK);
                transaction.write(&mut out);
                put_count(ids.len(), &mut out);
                put_ids(ids, &mut out);
            }
            Self::Rates(rates) => {
                out.push(RATES);
                for rates in rates {
                    out.extend_from_slice(&rates.to_bytes());
                }
            }
        }
        out
    }

    /// Decodes a message.
    ///
    /// # Errors
    /// `chain_message.malformed`, or the code of the transaction or header in it.
    pub fn read(bytes: &[u8]) -> Result<Self, Rejection> {
        if bytes.len() > GOSSIP_BYTES_MAX {
            return Err(malformed(format!(
                "{} bytes of gossip, at most {GOSSIP_BYTES_MAX}",
                bytes.len()
            )));
        }
        let (kind, mut reader) = Reader::new(bytes)?;
        let message = match kind {
            TRANSACTIONS => {
                let mut transactions = Vec::with_capacity(
                    (bytes.len() / PAYMENT_BYTES).clamp(1, GOSSIP_TRANSACTIONS_MAX),
                );
                while !reader.is_empty() {
                    if transactions.len() == GOSSIP_TRANSACTIONS_MAX {
                        return Err(malformed("too many transactions in a batch"));
                    }
                    transactions.push(reader.transaction()?);
                }
                if transactions.is_empty() {
                    return Err(malformed("a batch without transactions"));
                }
                Self::Transactions(transactions)
            }
            BLOCK => Self::Block(Announcement {
                header: reader.header()?,
                ids: reader.ids(IDS_MAX)?,
            }),
            CHILD_BLOCK => Self::ChildBlock {
                transaction: reader.transaction()?,
                ids: reader.counted_ids(IDS_MAX)?,
            },
            RATES => Self::Rates(read_rates(&mut reader)?),
            kind => return Err(malformed(format!("unknown gossip kind {kind}"))),
        };
        reader.finish()?;
        Ok(message)
    }
}

fn read_rates(reader: &mut Reader<'_>) -> Result<Vec<SignedRates>, Rejection> {
    let mut rates = Vec::new();
    while !reader.is_empty() {
        if rates.len() == GOSSIP_RATES_MAX {
            return Err(malformed("too many rates in a batch"));
        }
        rates.push(SignedRates::read(reader.slice(RATES_BYTES)?)?);
    }
    if rates.is_empty() {
        return Err(malformed("a batch without rates"));
    }
    Ok(rates)
}
