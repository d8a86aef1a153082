//! The recorded transactions: their order, their look-up, and those recorded but not yet durable.
//!
//! # Invariants
//! - A transaction's dependencies have smaller sequence numbers than it has.
//! - A transaction recorded in this run is found by look-ups at once, whether it is durable yet or not.
//! - An id that is remembered as absent has no row in the store. Only [`Book::record`] adds such a row, and it forgets the id.

use std::cell::RefCell;
use std::sync::Arc;

use ledger::{SignedTransaction, StateRef, TransactionState, TxId};
use primitives::collections::{HashMap, HashSet};
use primitives::{Decode, DecodeError, Encode, Encoder, Timestamp};

use crate::cache::GenerationCache;
use crate::context::Context;
use crate::figures::CacheFigures;
use crate::pages::row_page;
use crate::port::{Reads, StoreFailure, Table, damaged};
use crate::rows::{seq_key, seq_of};
use crate::writes::{RowRange, Writer};

/// A recorded transaction with its place in this node's ledger.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// Position, from 1, without gaps.
    pub seq: u64,
    /// The transaction.
    pub transaction: Arc<SignedTransaction>,
}

/// The recorded transactions by position and by id. A look-up changes only what is kept in memory.
pub struct Book {
    next_seq: u64,
    cache: RefCell<GenerationCache<TxId, Recorded>>,
    /// Recorded transactions that are not durable yet.
    undurable: HashMap<TxId, Recorded>,
    /// Ids that the store does not have. Each new transaction is looked up on arrival and again before it is recorded.
    absent: RefCell<HashSet<TxId>>,
}

/// Maximum number of ids remembered as absent. When it is reached, all are forgotten and the store is asked again.
pub const ABSENT_IDS_MAX: usize = 8_192;

/// Approximate size of the decoded form of a cached transaction, in addition to its bytes.
const CACHED_OVERHEAD_BYTES: usize = 1_500;

impl Writer for Book {
    const ROWS: &'static [RowRange] = &[
        RowRange::table(Table::Ledger),
        RowRange::table(Table::TxIndex),
    ];
}

impl Book {
    /// Opens the book at the end of the stored ledger.
    pub fn open(reads: &dyn Reads, cache_bytes: usize) -> Result<Self, StoreFailure> {
        let last = match reads.last(Table::Ledger)? {
            None => 0,
            Some((key, _)) => position(&key)?,
        };
        let next_seq = last.checked_add(1).ok_or_else(damaged_position)?;
        Ok(Self {
            next_seq,
            cache: RefCell::new(GenerationCache::new(cache_bytes)),
            undurable: HashMap::default(),
            absent: RefCell::default(),
        })
    }

    /// Returns the last position given out.
    pub fn last_seq(&self) -> u64 {
        self.next_seq - 1
    }

    /// Appends a transaction; the caller has verified it and knows that it is not in the book.
    pub(crate) fn record(
        &mut self,
        transaction: Arc<SignedTransaction>,
        context: &mut Context,
    ) -> u64 {
        let (at, batch) = (context.now.wall, &mut context.round.batch);
        let seq = self.next_seq;
        self.next_seq += 1;
        let id = transaction.id();
        self.absent.get_mut().remove(&id);
        let row = encode_row(at, &transaction);
        let weight = row.len() * 2 + CACHED_OVERHEAD_BYTES;
        batch.of::<Book>().put(Table::Ledger, seq_key(seq), row);
        batch
            .of::<Book>()
            .put(Table::TxIndex, id.as_bytes().to_vec(), seq_key(seq));
        context.figures.transactions_recorded += 1;
        context.round.recorded.push(id);
        let recorded = Recorded { seq, transaction };
        let before = self.undurable.insert(id, recorded.clone());
        assert!(
            before.is_none(),
            "transaction {id} is recorded a second time"
        );
        self.cache.get_mut().insert(id, recorded, weight);
        seq
    }

    /// Notes that a recorded transaction is durable.
    pub fn durable(&mut self, id: &TxId) {
        self.undurable.remove(id);
    }

    /// Returns the transaction recorded at a position, if it is not durable yet.
    pub fn undurable_at(&self, seq: u64) -> Option<Arc<SignedTransaction>> {
        let mut recorded = self.undurable.values();
        let found = recorded.find(|recorded| recorded.seq == seq)?;
        Some(Arc::clone(&found.transaction))
    }

    /// Returns whether the transaction is recorded here, durable or not yet.
    pub fn contains(&self, id: &TxId, reads: &dyn Reads) -> Result<bool, StoreFailure> {
        if self.undurable.contains_key(id) || self.cache.borrow().contains(id) {
            return Ok(true);
        }
        let mut absent = self.absent.borrow_mut();
        if absent.contains(id) {
            return Ok(false);
        }
        let is_stored = reads.get(Table::TxIndex, id.as_bytes())?.is_some();
        if !is_stored {
            if absent.len() >= ABSENT_IDS_MAX {
                absent.clear();
            }
            absent.insert(*id);
        }
        Ok(is_stored)
    }

    /// Returns the position of a transaction that is in memory.
    pub fn position_at_hand(&self, id: &TxId) -> Option<u64> {
        match self.undurable.get(id) {
            Some(recorded) => Some(recorded.seq),
            None => self.cache.borrow().peek(id).map(|found| found.seq),
        }
    }

    /// Returns the transaction's position, if it is recorded here.
    pub fn position(&self, id: &TxId, reads: &dyn Reads) -> Result<Option<u64>, StoreFailure> {
        if let Some(seq) = self.position_at_hand(id) {
            return Ok(Some(seq));
        }
        match reads.get(Table::TxIndex, id.as_bytes())? {
            None => Ok(None),
            Some(seq) => match seq_of(&seq) {
                Some(seq) => Ok(Some(seq)),
                None => Err(damaged("the index of transactions")),
            },
        }
    }

    /// Returns the transaction with its position, and keeps it in the cache.
    pub fn get(&self, id: &TxId, reads: &dyn Reads) -> Result<Option<Recorded>, StoreFailure> {
        if let Some(recorded) = self.cache.borrow_mut().get(id) {
            return Ok(Some(recorded));
        }
        if let Some(recorded) = self.undurable.get(id) {
            return Ok(Some(recorded.clone()));
        }
        let Some((recorded, bytes)) = load(id, reads)? else {
            return Ok(None);
        };
        let weight = bytes * 2 + CACHED_OVERHEAD_BYTES;
        let mut cache = self.cache.borrow_mut();
        cache.insert(*id, recorded.clone(), weight);
        Ok(Some(recorded))
    }

    /// Returns the transaction with its position, and does not change which transactions stay in the cache.
    pub fn read(&self, id: &TxId, reads: &dyn Reads) -> Result<Option<Recorded>, StoreFailure> {
        if let Some(recorded) = self.undurable.get(id) {
            return Ok(Some(recorded.clone()));
        }
        if let Some(recorded) = self.cache.borrow().peek(id) {
            return Ok(Some(recorded.clone()));
        }
        Ok(load(id, reads)?.map(|(recorded, _)| recorded))
    }

    /// Returns the recorded transaction at a position, durable or not yet.
    pub(crate) fn recorded_at(
        &self,
        seq: u64,
        reads: &dyn Reads,
    ) -> Result<SignedTransaction, StoreFailure> {
        if let Some(recorded) = self.undurable_at(seq) {
            return Ok((*recorded).clone());
        }
        let row = reads.get(Table::Ledger, &seq_key(seq))?;
        let row = row.ok_or_else(|| damaged("the index names a position that the ledger lacks"))?;
        let (_, transaction) =
            decode_row(&row).map_err(|_| damaged("a recorded transaction does not decode"))?;
        Ok(transaction)
    }

    /// Returns an output of a recorded transaction.
    pub fn state(
        &self,
        reference: &StateRef,
        reads: &dyn Reads,
    ) -> Result<Option<TransactionState>, StoreFailure> {
        Ok(self.get(&reference.tx, reads)?.and_then(|recorded| {
            recorded
                .transaction
                .wire()
                .output(reference.index as usize)
                .cloned()
        }))
    }

    /// Returns the counters of the transaction cache, for the metrics.
    pub fn cache_figures(&self) -> CacheFigures {
        self.cache.borrow().figures()
    }
}

/// Reads a transaction from the store. Also returns the size of its row in bytes.
pub(crate) fn load(
    id: &TxId,
    reads: &dyn Reads,
) -> Result<Option<(Recorded, usize)>, StoreFailure> {
    let Some(seq) = reads.get(Table::TxIndex, id.as_bytes())? else {
        return Ok(None);
    };
    let seq = seq_of(&seq).ok_or_else(|| damaged("the index of transactions"))?;
    let row = reads.get(Table::Ledger, &seq_key(seq))?;
    let row = row.ok_or_else(|| damaged("the index names a transaction that the ledger lacks"))?;
    let decoded = decode_row(&row);
    let (_, transaction) =
        decoded.map_err(|_| damaged("a recorded transaction does not decode"))?;
    let transaction = Arc::new(transaction);
    Ok(Some((Recorded { seq, transaction }, row.len())))
}

/// Encodes a row of the ledger.
fn encode_row(at: Timestamp, transaction: &SignedTransaction) -> Vec<u8> {
    // A little more than its parts, so that the encoder does not grow.
    let mut encoder = Encoder::with_capacity(transaction.weight() + 64);
    transaction.encode(&mut encoder);
    [&at.as_ms().to_be_bytes()[..], encoder.as_bytes()].concat()
}

/// Decodes a row of the ledger: the time of recording, and the transaction.
pub fn decode_row(row: &[u8]) -> Result<(Timestamp, SignedTransaction), DecodeError> {
    let Some((at, bytes)) = row.split_first_chunk::<8>() else {
        return Err(DecodeError::Truncated { offset: 0 });
    };
    let transaction = SignedTransaction::from_bytes(bytes)?;
    Ok((Timestamp::from_ms(u64::from_be_bytes(*at)), transaction))
}

/// Approximate maximum size of one page of the ledger, in bytes.
const LEDGER_PAGE_BYTES: usize = 2 << 20;

/// A part of the ledger.
pub struct LedgerRows {
    /// Undecoded rows with their positions, in order.
    pub rows: Vec<(u64, Vec<u8>)>,
    /// Whether there may be more after the last.
    pub more: bool,
}

/// Returns rows of the ledger after a position: at most `limit`, and fewer if they are large.
///
/// # Errors
/// The store could not be read.
pub fn ledger_page(
    reads: &dyn Reads,
    after: u64,
    limit: usize,
) -> Result<LedgerRows, StoreFailure> {
    // Nothing comes after the last position. The reader of that page gets the last row again, if there ever is one.
    let from = seq_key(after.saturating_add(1)).to_vec();
    let page = row_page(reads, Table::Ledger, from, None, limit, LEDGER_PAGE_BYTES)?;
    let rows = page.rows.into_iter();
    let rows: Result<_, _> = rows.map(|(key, row)| Ok((position(&key)?, row))).collect();
    Ok(LedgerRows {
        rows: rows?,
        more: page.more,
    })
}

/// Returns the position that a key of the ledger's table holds.
fn position(key: &[u8]) -> Result<u64, StoreFailure> {
    let key = key.try_into().map_err(|_| damaged_position())?;
    Ok(u64::from_be_bytes(key))
}

fn damaged_position() -> StoreFailure {
    damaged("a position in the ledger")
}
